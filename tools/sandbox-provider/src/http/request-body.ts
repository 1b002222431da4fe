import { SandboxError } from './sandbox-error';
import type { IncomingMessage } from 'node:http';

/** An oversized body is read to its end, so that the refusal reaches the client, unless it is this much too large. */
const PATIENCE = 4;

/** Reads a body of at most `limitBytes`. Rejects with 413 beyond, and when the client leaves before its end. */
export function readBody(request: IncomingMessage, limitBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let chunks: Buffer[] = [];
    let length = 0;
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length <= limitBytes) chunks.push(chunk);
      else chunks = [];
      if (length > limitBytes * PATIENCE) request.destroy();
    });
    request.on('end', () => {
      if (length > limitBytes) reject(new SandboxError(413, `The body is larger than ${limitBytes} bytes`));
      else resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, length));
    });
    request.on('error', reject);
    request.on('close', () => {
      if (!request.complete) reject(new SandboxError(400, 'The client left before the end of its body'));
    });
  });
}
