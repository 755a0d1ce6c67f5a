// Makes or replaces a blob, and its container, for tests. Run as: node put.mjs ENDPOINT CONTAINER NAME,
// with the bytes on standard input. Requests are signed with the one key that the emulator knows:
// https://learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key

import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";

const [endpoint, container, name] = process.argv.slice(2);
const account = "devstoreaccount1";
const key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

async function put(path, query, headers, body) {
  const all = { ...headers, "x-ms-date": new Date().toUTCString(), "x-ms-version": "2021-08-06" };
  const ours = Object.keys(all).filter((header) => header.startsWith("x-ms-")).sort();
  const signed = [
    "PUT", "", "", body.length || "", "", all["content-type"] ?? "", "", "", "", "", "", "",
    ...ours.map((header) => `${header}:${all[header]}`),
    `/${account}/${account}/${path}${query ? "\n" + query.replace("=", ":") : ""}`,
  ].join("\n");
  const signature = createHmac("sha256", Buffer.from(key, "base64")).update(signed).digest("base64");
  all.authorization = `SharedKey ${account}:${signature}`;
  const url = `${endpoint}/${path}${query ? "?" + query : ""}`;
  return fetch(url, { method: "PUT", headers: all, body: body.length ? body : undefined });
}

const made = await put(container, "restype=container", {}, Buffer.alloc(0));
const blob = { "x-ms-blob-type": "BlockBlob", "content-type": "application/octet-stream" };
const stored = await put(`${container}/${name}`, "", blob, readFileSync(0));
if (!(made.ok || made.status === 409) || !stored.ok) {
  throw new Error(`${made.status} ${stored.status} ${await stored.text()}`);
}
