import type { ServerResponse } from 'node:http';

/** Up to this many bytes a body leaves in one string with its head, which costs less than a vector of two parts. */
export const SMALL_ANSWER_BYTES = 16 * 1024;
/** A longer body leaves piece by piece, so that it shows whether its caller reads on. */
const PIECE_BYTES = 64 * 1024;

/** Ends a response, whose head was written, with its body. */
export function endWith(response: ServerResponse, body: Buffer): void {
  // Each character of Latin-1 is one byte, and comes out as the same byte.
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
