import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';

const DISCARD_MS = 10_000;
/**
 * Most uploads that are discarded at the same time. Beyond that a connection closes with its answer, and a client may
 * miss it.
 */
const MOST_DISCARDED = 1_024;

let discarding = 0;

/** Whether bytes of the body may still be on their way. */
export function hasUnreadBody(request: IncomingMessage): boolean {
  if (request.complete) return false;
  const { headers } = request;
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/**
 * Returns a stream for the answer to a request whose body has not fully arrived, to be sent with `Connection: close`.
 *
 * A connection that is closed with unread bytes is reset, and a reset makes the client discard an answer that it has
 * not read yet. So the answer is sent at once, complete by its Content-Length. Its end, which closes the connection,
 * waits until the upload has arrived, the client has disconnected, or ten seconds are over. If too many uploads are
 * being discarded, it does not wait.
 */
export function closingLate(request: IncomingMessage, payload: string | Buffer): Readable {
  let step = 0;
  return new Readable({
    read() {
      step += 1;
      if (step === 1) this.push(payload);
      else if (step === 2) discardBody(request, () => this.push(null));
    },
  });
}

function discardBody(request: IncomingMessage, done: () => void): void {
  if (request.complete || request.destroyed || discarding >= MOST_DISCARDED) {
    done();
    return;
  }
  discarding += 1;
  const timer = setTimeout(finish, DISCARD_MS);
  function finish(): void {
    clearTimeout(timer);
    request.off('end', finish).off('close', finish);
    discarding -= 1;
    done();
  }
  request.once('end', finish).once('close', finish).resume();
}
