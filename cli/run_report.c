// SPDX-License-Identifier: BSD-3-Clause
//
// --report, the launcher's side: the root tells what it has found (FINDINGS), as its program
// ends; here it is read, and what only the launcher knows is added. Nothing that goes wrong
// with it changes how the run has ended.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "job.h"

#define FINDINGS_MAX ((size_t)256 << 20)

tm_status run_report_take(struct job *job, const struct link_frame *frame)
{
    struct report_findings *findings = &job->findings;

    if (findings->is_whole ||
        findings->text.used + frame->size > FINDINGS_MAX) {
        return TM_EWIRE;
    }
    findings->is_whole = frame->size == 0;
    buffer_append(&findings->text, frame->body, frame->size);
    return TM_OK;
}

static void describe_system(char *text, size_t size)
{
    struct utsname system;

    if (uname(&system) == 0) {
        snprintf(text, size, "%s %s %s", system.sysname, system.release,
                 system.machine);
    }
}

static void describe_time(char *text, size_t size)
{
    const time_t now = time(NULL); // for people
    struct tm parts;

    if (gmtime_r(&now, &parts) == NULL ||
        strftime(text, size, "%Y-%m-%d %H:%M UTC", &parts) == 0) {
        text[0] = '\0';
    }
}

static int describe_run(const struct job *job, struct record *record)
{
    char system[400] = "";
    char ended[64];

    describe_system(system, sizeof system);
    describe_time(ended, sizeof ended);
    return run_record_add_run(
               record, &(struct record_run){
                           .argv = (const char *const *)job->plan->argv,
                           .options = (const char *const *)job->plan->options,
                           .exit_code = job->exit_code,
                           .system = system,
                           .ended = ended,
                       }) == TM_OK;
}

void run_report_write(struct job *job)
{
    static const char command[] = "teamster run";
    const char *path = job->plan->report;
    struct report_findings *findings = &job->findings;
    struct record record;
    char error[512];

    if (strcmp(path, "none") == 0) {
        return;
    }
    if (!findings->is_whole) {
        fprintf(stderr,
                "%s: there is no report %s: the run ended before its root "
                "could tell what it had found\n",
                command, path);
    } else if (run_record_parse(buffer_front(&findings->text),
                                findings->text.used, "what the root has found",
                                &record, error, sizeof error) != TM_OK) {
        fprintf(stderr, "%s: there is no report %s: %s\n", command, path,
                error);
    } else {
        if (!describe_run(job, &record)) {
            fprintf(stderr, "%s: no memory for all of the report %s\n", command,
                    path);
        }
        (void)report_file_put_record(command, path, &record); // told
        run_record_release(&record);
    }
    buffer_release(&findings->text);
}
