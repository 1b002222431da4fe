import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { FastifyReply } from 'fastify';
import type { LiveRequest } from '../http/in-flight';

/** Longest `If-None-Match` that is read, in characters. */
const MOST_TAGS_LENGTH = 1_024;

/** A file that is the same for all callers. It is read once, and all answers share its bytes. */
export class StaticFile {
  #content: Promise<{ readonly bytes: Buffer; readonly etag: string }> | null = null;

  constructor(
    private readonly path: string,
    private readonly type: string,
  ) {}

  /**
   * Answers GET, and HEAD (for which Fastify sends only the length); 304 if the caller already has the file. Slow
   * readers take no slots from others.
   */
  async send({ headers, life }: LiveRequest, reply: FastifyReply): Promise<void> {
    const { bytes, etag } = await (this.#content ??= contentOf(this.path));
    void reply.headers({ etag, 'content-type': this.type });
    if (isKnown(headers['if-none-match'], etag)) return void reply.status(304).send();
    life.claim.worked();
    void reply.send(bytes);
  }
}

async function contentOf(path: string): Promise<{ readonly bytes: Buffer; readonly etag: string }> {
  const bytes = await readFile(path);
  return { bytes, etag: `"${hash('sha256', bytes, 'base64url')}"` };
}

/** Whether one of the tags that the caller has is this one (RFC 9110 §13.1.2). */
function isKnown(given = '', etag: string): boolean {
  const tags = given
    .slice(0, MOST_TAGS_LENGTH)
    .split(',')
    .map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes(etag) || tags.includes('*');
}
