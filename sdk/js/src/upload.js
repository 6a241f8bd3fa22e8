// SPDX-License-Identifier: Apache-2.0
// Sending a file and telling how much of it has gone. Browsers tell that by XMLHttpRequest alone; where
// there is none, the file is read piece by piece and what was taken of it has gone. A fetch that somebody
// gives is not gone round in secret: in a browser it gets the whole file, and tells only that it has gone.

import { AbortError, ApiError, ConnectionError } from "./errors.js";

const PIECE_BYTES = 64 * 1024;

/** A Blob, text or bytes as a Blob. */
export function blobOf(file) {
  if (file instanceof Blob) return file;
  if (typeof file === "string" || file instanceof ArrayBuffer || ArrayBuffer.isView(file)) return new Blob([file]);
  throw new TypeError("a file is a File, a Blob, a text or bytes");
}

/** `blob` as a stream that calls onProgress({bytes, totalBytes}). */
function counted(blob, onProgress) {
  let bytes = 0;
  return new ReadableStream({
    async pull(control) {
      const piece = new Uint8Array(await blob.slice(bytes, bytes + PIECE_BYTES).arrayBuffer());
      if (piece.length > 0) control.enqueue(piece);
      bytes += piece.length;
      onProgress({ bytes, totalBytes: blob.size });
      if (bytes >= blob.size) control.close();
    },
  });
}

/** What fetch would answer, as far as it is looked at. */
function responseOf(request) {
  const headers = new Headers();
  for (const line of request
    .getAllResponseHeaders()
    .trim()
    .split(/[\r\n]+/)) {
    const colon = line.indexOf(":");
    if (colon > 0) headers.append(line.slice(0, colon), line.slice(colon + 1).trim());
  }
  return new Response(request.responseText || null, { status: request.status, headers });
}

function byXmlHttpRequest(url, { method, headers, body, credentials, signal }, onProgress) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const onAbort = () => request.abort();
    const settle = (how, value) => {
      signal?.removeEventListener("abort", onAbort);
      how(value);
    };
    request.open(method, url);
    request.withCredentials = credentials === "include";
    for (const [name, value] of headers) request.setRequestHeader(name, value);
    request.upload.onprogress = (e) => onProgress({ bytes: e.loaded, totalBytes: body.size });
    // It goes wherever it is sent, and cannot be kept from that; but an answer from there is none.
    request.onload = () =>
      request.responseURL && request.responseURL !== new URL(url).href
        ? settle(reject, new ApiError("the server sends us elsewhere: is the baseUrl right?", { status: 0, code: "redirected" }))
        : settle(resolve, responseOf(request));
    request.onerror = () => settle(reject, new ConnectionError("the connection was lost"));
    request.onabort = () => settle(reject, new AbortError(undefined, { cause: signal?.reason }));
    signal?.addEventListener("abort", onAbort);
    request.send(body);
  });
}

/** A fetch whose body, a Blob, is counted. `mayXhr`: it need not be that very fetch. */
export function countingFetch(fetch, onProgress, mayXhr) {
  return async (url, request) => {
    const { body } = request;
    if (!globalThis.XMLHttpRequest) return fetch(url, { ...request, body: counted(body, onProgress), duplex: "half" });
    if (mayXhr) return byXmlHttpRequest(url, request, onProgress);
    const response = await fetch(url, request);
    onProgress({ bytes: body.size, totalBytes: body.size });
    return response;
  };
}
