import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Most requests of a connection that may wait while the one before them is answered. */
export const MOST_WAITING = 4;
/**
 * Above `MOST_WAITING`, requests are not accepted, and the connection closes after its answers. Above this number, it
 * closes at once.
 */
export const MOST_UNTAKEN = 8;

/**
 * Most connections on which requests may wait; above that, a connection that sends ahead is closed. Each holds up to 64
 * KiB.
 */
export const MOST_CONNECTIONS_WAITING = 1_024;

/** How long the client may take to read the last answers before the connection is closed. */
const LINGER_MS = 2_000;

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/**
 * Returns a listener that passes the requests of each connection to `answer` one after another.
 *
 * Node passes on all requests in a chunk of 64 KiB in one turn of the event loop, up to 3,600, and cannot be stopped in
 * between. Without this limit, a few connections that send requests ahead (HTTP pipelining) would block the process for
 * seconds, and create a response object for each request. A client that sends ahead more than is accepted has to send
 * the rest again on another connection, as RFC 9112 §9.3.2 demands.
 *
 * While requests of a connection wait, nothing more is read from it. So it holds at most the rest of one chunk, and a
 * disconnection of its client is noticed only when the answer is written.
 * @param onOverrun called once for each connection that is closed for this reason
 */
export function answerInTurn(
  answer: RequestListener,
  onOverrun: () => void = () => {},
  mostConnectionsWaiting = MOST_CONNECTIONS_WAITING,
): RequestListener {
  const lines = new WeakMap<Socket, RequestLine>();
  const shared = { answer, onOverrun, waiting: 0, mostConnectionsWaiting };
  return (request, response) => {
    const { socket } = request;
    let line = lines.get(socket);
    if (line === undefined) lines.set(socket, (line = new RequestLine(socket, shared)));
    line.arrive({ request, response });
  };
}

/** State that the connections of a server share. */
interface Shared {
  readonly answer: RequestListener;
  readonly onOverrun: () => void;
  readonly mostConnectionsWaiting: number;
  /** Connections on which requests wait. */
  waiting: number;
}

/** The requests of one connection that are not answered yet. */
class RequestLine {
  readonly #waiting: Exchange[] = [];
  #isAnswering = false;
  #isHeld = false;
  #untaken = 0;

  constructor(
    private readonly socket: Socket,
    private readonly shared: Shared,
  ) {}

  arrive(exchange: Exchange): void {
    if (!this.#isAnswering && this.#untaken === 0) this.#take(exchange);
    else if (!this.#isHeld && !this.#hold()) this.#refuse();
    else if (this.#untaken > 0 || this.#waiting.length === MOST_WAITING) this.#leaveUntaken();
    else this.#waiting.push(exchange);
  }

  #take({ request, response }: Exchange): void {
    this.#isAnswering = true;
    this.shared.answer(request, response);
    // Responses close in a later tick. Listeners of `answer` run first, so the next request can use what they release.
    response.once('close', () => this.#next());
  }

  #next(): void {
    this.#isAnswering = false;
    // The client has disconnected, or the last answer closes the connection.
    if (!this.socket.writable) this.#waiting.length = 0;
    const next = this.#waiting.shift();
    if (this.#isHeld && this.#waiting.length === 0 && this.#untaken === 0) this.#letGo();
    if (next !== undefined) this.#take(next);
    else if (this.#untaken > 0) this.#close();
  }

  #leaveUntaken(): void {
    this.#untaken += 1;
    if (this.#untaken === 1) this.shared.onOverrun();
    if (this.#untaken === MOST_UNTAKEN) this.socket.destroy();
  }

  #refuse(): void {
    this.shared.onOverrun();
    this.socket.destroy();
  }

  /** Stops reading. Returns false if too many connections are held. */
  #hold(): boolean {
    if (this.shared.waiting >= this.shared.mostConnectionsWaiting) return false;
    this.#isHeld = true;
    this.shared.waiting += 1;
    this.socket.on('resume', pause).once('close', this.#onClose);
    this.socket.pause();
    return true;
  }

  /** Reads on. */
  #letGo(): void {
    this.#isHeld = false;
    this.shared.waiting -= 1;
    this.socket.off('resume', pause).off('close', this.#onClose);
    this.socket.resume();
  }

  readonly #onClose = (): void => {
    if (this.#isHeld) this.#letGo();
  };

  /**
   * A connection that is closed with unread bytes is reset, and the client would lose answers that it has not read yet.
   */
  #close(): void {
    if (this.#isHeld) this.#letGo();
    this.socket.end();
    setTimeout(() => this.socket.destroy(), LINGER_MS).unref();
  }
}

/** Node resumes reading whenever it has finished a request. */
function pause(this: Socket): void {
  this.pause();
}
