// SPDX-License-Identifier: BSD-3-Clause
#include <math.h>
#include <string.h>

#include "planner/report_page_priv.h"

void page_text(FILE *file, const char *text)
{
    for (const char *at = text; *at != '\0'; at++) {
        switch (*at) {
        case '&':
            fputs("&amp;", file);
            break;
        case '<':
            fputs("&lt;", file);
            break;
        case '>':
            fputs("&gt;", file);
            break;
        case '"':
            fputs("&quot;", file);
            break;
        case '\'':
            fputs("&#39;", file);
            break;
        default:
            // What XML does not allow would make the page unreadable.
            putc((unsigned char)*at < 0x20 || *at == 0x7f ? '?' : *at, file);
        }
    }
}

// Three digits, never as a power of ten.
static void put_three(double value, const char *unit, char *text, size_t size)
{
    const int decimals = value >= 100 ? 0 : value >= 10 ? 1 : 2;

    snprintf(text, size, "%.*f %s", decimals, value, unit);
}

const char *page_time(double seconds, char *text)
{
    if (seconds >= 1) {
        put_three(seconds, "s", text, 24);
    } else if (seconds >= 1e-3) {
        put_three(seconds * 1e3, "ms", text, 24);
    } else {
        put_three(seconds * 1e6, "us", text, 24);
    }
    return text;
}

const char *page_percent(double part, char *text)
{
    const double percent = part * 100;

    snprintf(text, 16, percent > 0 && percent < 9.95 ? "%.1f %%" : "%.0f %%",
             fmin(percent, 1e6));
    return text;
}

const char *page_count(double number, char *text)
{
    char digits[32];
    size_t n;
    char *at = text;

    snprintf(digits, sizeof digits, "%.0f", fmin(number, 1e18));
    n = strlen(digits);
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0) {
            *at++ = ' ';
        }
        *at++ = digits[i];
    }
    *at = '\0';
    return text;
}

static const char style[] =
    ":root{color-scheme:light dark;--fg:#1b1b1b;--bg:#fff;--soft:#5a5a5a;"
    "--line:#c9c9c9;--ink:#1f4e79;--warm:#b3541e;--pale:#e8eef4}"
    "@media(prefers-color-scheme:dark){:root{--fg:#e8e8e8;--bg:#16181b;"
    "--soft:#a8a8a8;--line:#4a4d52;--ink:#7fb2e5;--warm:#f0a06a;"
    "--pale:#263240}}"
    "body{font:16px/1.5 system-ui,sans-serif;color:var(--fg);"
    "background:var(--bg);max-width:62rem;margin:0 auto;padding:1rem}"
    "h1{font-size:1.5rem;margin:.5rem 0}"
    "h2{font-size:1.15rem;margin:2.2rem 0 .5rem;"
    "border-bottom:1px solid var(--line)}"
    "p{max-width:46rem;margin:.5rem 0}"
    "table{border-collapse:collapse;margin:.5rem 0;"
    "font-variant-numeric:tabular-nums}"
    "caption{text-align:left;color:var(--soft);font-size:.9rem}"
    "th,td{padding:.2rem .7rem .2rem 0;text-align:right;vertical-align:top;"
    "border-bottom:1px solid var(--line)}"
    "td{white-space:nowrap}"
    "th:first-child,td:first-child,.words{text-align:left;"
    "white-space:normal}"
    "thead th{font-weight:600;vertical-align:bottom}"
    ".wide{overflow-x:auto}"
    ".big{font-size:2.4rem;font-weight:700;line-height:1.1}"
    ".soft{color:var(--soft);font-size:.9rem}"
    ".bar{display:inline-block;width:9rem;height:.8rem;"
    "border:1px solid var(--fg);vertical-align:middle}"
    ".bar i{display:block;height:100%;background:var(--ink)}"
    "svg{max-width:100%;height:auto;display:block;margin:.4rem 0}"
    "svg text{fill:var(--fg);font:12px system-ui,sans-serif}"
    "code,pre{font-family:ui-monospace,monospace;font-size:.9rem}"
    "pre{white-space:pre-wrap;overflow-wrap:anywhere}"
    "a{color:var(--ink)}"
    ":focus-visible{outline:3px solid var(--warm);outline-offset:2px}"
    "@media print{body{max-width:none}details{display:block}}";

// Well-formed as XML, too. The policy forbids what the page does not have anyway: scripts, and
// anything from elsewhere.
void page_begin(FILE *file, const char *title)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
          "<meta charset=\"utf-8\" />\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
          "'none'; style-src 'unsafe-inline'\" />\n"
          "<meta name=\"viewport\" content=\"width=device-width, "
          "initial-scale=1\" />\n<title>",
          file);
    page_text(file, title);
    fprintf(file, "</title>\n<style>%s</style>\n</head>\n<body>\n<main>\n<h1>",
            style);
    page_text(file, title);
    fputs("</h1>\n", file);
}

void page_end(FILE *file)
{
    fputs("</main>\n</body>\n</html>\n", file);
}
