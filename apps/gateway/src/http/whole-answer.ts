import type { ServerResponse } from 'node:http';

/** A body up to this size is sent in one string together with its head, which costs less than two buffers. */
export const SMALL_ANSWER_BYTES = 16 * 1024;
/** A longer body is sent in pieces, which shows whether its caller is still reading. */
const PIECE_BYTES = 64 * 1024;

/** Ends a response with its body; the head was already written. */
export function endWith(response: ServerResponse, body: Buffer): void {
  // Each Latin-1 character is one byte, so the bytes are unchanged.
  if (body.length <= SMALL_ANSWER_BYTES) response.end(body.toString('latin1'), 'latin1');
  else writeFrom(response, piecesOf(body));
}

/** Returns the body in pieces, which share its memory. */
export function* piecesOf(body: Buffer): Generator<Buffer> {
  for (let at = 0; at < body.length; at += PIECE_BYTES) yield body.subarray(at, at + PIECE_BYTES);
}

function writeFrom(response: ServerResponse, pieces: Generator<Buffer>): void {
  for (let piece = pieces.next(); !piece.done; piece = pieces.next()) {
    if (response.destroyed) return;
    if (response.write(piece.value)) continue;
    response.once('drain', () => writeFrom(response, pieces));
    return;
  }
  response.end();
}
