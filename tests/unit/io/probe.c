/* SPDX-License-Identifier: Apache-2.0 */
/* The way to a host on this machine. Certificates are for tests/cli/doctor.py. */
#include "io/probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "t.h"

enum { TIMEOUT_MS = 10000 };

/* A socket that listens, on a port of the kernel's choice. */
static int listen_here(unsigned *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    T_EQ(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    T_EQ(listen(fd, 8), 0);
    T_EQ(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    *port = ntohs(address.sin_port);
    return fd;
}

TEST(an_address_that_listens_is_connected_to)
{
    unsigned port;
    const char *why;
    struct probe_host host;
    int fd = listen_here(&port);
    T_EQ(probe_resolve("127.0.0.1", port, &host, &why), WEIR_OK);
    T_EQ(host.n, 1);
    T_EQ_STR(weir_slice_of(host.addresses[0].text), "127.0.0.1");
    T_EQ(host.addresses[0].is_v6, false);
    T_EQ(probe_connect(&host, TIMEOUT_MS), true);
    T_EQ(host.addresses[0].error, 0);
    close(fd);
    T_EQ(probe_connect(&host, TIMEOUT_MS), false);
    T_EQ(host.addresses[0].error, ECONNREFUSED);
}

TEST(a_name_that_cannot_be_is_not_found)
{
    const char *why;
    struct probe_host host;
    T_EQ(probe_resolve("no-such-host.invalid", 80, &host, &why), WEIR_NOT_FOUND);
    T_EQ(host.n, 0);
    T_EQ(why[0] != 0, true);
}

static void *speak_no_tls(void *user)
{
    char bytes[64];
    int fd = accept(*(int *)user, NULL, NULL);
    T_EQ(read(fd, bytes, sizeof bytes) > 0, true);
    T_EQ(write(fd, "HTTP/1.1 400 Bad Request\r\n\r\n", 28), 28);
    close(fd);
    return NULL;
}

TEST(who_speaks_no_tls_is_told_of)
{
    unsigned port;
    const char *why;
    struct probe_host host;
    struct probe_certificate certificate;
    pthread_t thread;
    int fd = listen_here(&port);
    T_EQ(pthread_create(&thread, NULL, speak_no_tls, &fd), 0);
    T_EQ(probe_resolve("127.0.0.1", port, &host, &why), WEIR_OK);
    T_EQ(probe_tls(&host.addresses[0], "localhost", NULL, TIMEOUT_MS, &certificate), WEIR_IO);
    T_EQ(certificate.has_tls, false);
    T_EQ_STR(weir_slice_of(certificate.why), "there is no TLS handshake to be had");
    pthread_join(thread, NULL);
    close(fd);
    T_EQ(probe_tls(&host.addresses[0], "localhost", NULL, TIMEOUT_MS, &certificate), WEIR_IO);
    T_EQ_STR(weir_slice_of(certificate.why), "no connection can be made");
}
