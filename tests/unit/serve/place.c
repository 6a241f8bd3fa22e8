/* SPDX-License-Identifier: Apache-2.0 */
/* URLs of databases: what is a password in them, and that it is not shown. */
#include "serve/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/types.h>

#include "t.h"

TEST(url_is_told_from_a_folder)
{
    T_OK(place_is_url("postgres://h/d"));
    T_OK(place_is_url("postgresql://"));
    T_OK(!place_is_url("/var/lib/weir"));
    T_OK(!place_is_url("postgres:/h"));
    T_OK(!place_is_url(""));
}

static void wipes_to(const char *url, const char *wanted)
{
    char text[256];
    snprintf(text, sizeof text, "%s", url);
    place_wipe(text);
    T_EQ_STR(weir_slice_of(text), wanted);
}

TEST(password_is_written_over_wherever_it_stands)
{
    wipes_to("postgres://ada:secret@h/d", "postgres://ada:***xxx@h/d");
    wipes_to("postgres://ada:s@h", "postgres://ada:*@h");
    wipes_to("postgresql://ada@h:5432,h2:5433/d?a=b", "postgresql://ada@h:5432,h2:5433/d?a=b");
    wipes_to("postgres:///d?host=/tmp&password=secret&x=1",
             "postgres:///d?host=/tmp&password=***xxx&x=1");
    wipes_to("postgres:///d?sslpassword=pw", "postgres:///d?sslpassword=**");
    wipes_to("postgres://a:one@h/d,postgres://b:two2@i/d",
             "postgres://a:***@h/d,postgres://b:***x@i/d");
    wipes_to("postgres://h:5432/d", "postgres://h:5432/d");
    wipes_to("postgres://u:@h/d", "postgres://u:@h/d");
    wipes_to("postgres://u:p%40ss@h/d?password=again", "postgres://u:***xxx@h/d?password=***xx");
    wipes_to("postgres://h:5432/d?user=a@b", "postgres://h:5432/d?user=a@b");
    wipes_to("postgres://[1:2::5]:5432/d?user=a@b", "postgres://[1:2::5]:5432/d?user=a@b");
    wipes_to("postgres://u:pw@[::1]:5432/d", "postgres://u:**@[::1]:5432/d");
    wipes_to("postgres://h:1,i:2/d?user=a@b,postgres://j/d",
             "postgres://h:1,i:2/d?user=a@b,postgres://j/d");
}

TEST(password_that_should_have_been_escaped_is_found_and_refused)
{
    wipes_to("postgres://u:a/b@h/d", "postgres://u:***@h/d");
    wipes_to("postgres://u:a@b@h:1/d", "postgres://u:***@h:1/d");
    wipes_to("postgres://u:a?b@h/d,postgres://v:c#d@i", "postgres://u:***@h/d,postgres://v:***@i");
    T_OK(place_is_ambiguous("postgres://u:a/b@h/d"));
    T_OK(place_is_ambiguous("postgres://u:ok@h/d,postgres://u:a@b@h/d"));
    T_OK(!place_is_ambiguous("postgres://u:a%2Fb@h/d?password=x"));
    T_OK(!place_is_ambiguous("postgres://h:5432/d?user=a@b"));
    T_OK(!place_is_ambiguous("postgres:///d?host=/tmp"));
    T_OK(!place_is_ambiguous("postgres://h/d?password=ab/cd@e?f"));
    T_OK(!place_is_ambiguous("postgres://[::1]:5432/d?user=a@b"));
}

TEST(message_does_not_tell_the_password)
{
    char text[] = "cannot connect to postgres://ada:secret@h: secret is wrong";
    place_hide(text, "postgres://ada:secret@h");
    T_OK(!strstr(text, "secret"));
    T_OK(strstr(text, "cannot connect to postgres://ada:***xxx@h"));
    char plain[] = "no such host";
    place_hide(plain, "postgres://ada@h");
    T_EQ_STR(weir_slice_of(plain), "no such host");
}

TEST(files_are_those_that_are_there)
{
    struct place_files files;
    char url[1200], path[1100];
    snprintf(path, sizeof path, "%s/pass", t_temp_dir());
    FILE *f = fopen(path, "w");
    T_OK(f);
    if (f) fclose(f);
    snprintf(url, sizeof url, "postgres://h/d?passfile=%s&sslcert=/nowhere/at/all", path);
    place_files(&files, url);
    T_OK(files.n >= 1);
    T_EQ_STR(weir_slice_of(files.paths[0]), path);
    for (size_t i = 0; i < files.n; i++) T_OK(strcmp(files.paths[i], "/nowhere/at/all") != 0);
}

TEST(folder_remembers_where_its_data_are_without_the_password)
{
    char url[PLACE_BYTES];
    const char *folder = t_temp_dir();
    T_OK(!place_marked(folder, url));
    T_OK(place_mark(folder, "postgres://ada:secret@h/d"));
    T_OK(place_marked(folder, url));
    T_EQ_STR(weir_slice_of(url), "postgres://ada:***xxx@h/d");
    T_OK(place_mark(folder, "postgres://h/d"));
    T_OK(place_marked(folder, url));
    T_EQ_STR(weir_slice_of(url), "postgres://h/d");
    T_OK(!place_mark("/nowhere/at/all", "postgres://h/d"));
}
