import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Requests of a connection that may wait while the one before them is answered. */
export const MOST_WAITING = 4;
/** Beyond that, requests are not taken, and the connection closes after its answers. With so many, it closes at once. */
export const MOST_UNTAKEN = 8;

/** Connections on which requests may wait at once; beyond, one that sends ahead is closed. Each holds up to 64 KiB. */
export const MOST_CONNECTIONS_WAITING = 1_024;

/** How long the client may take to read the last answers before the connection is cut. */
const LINGER_MS = 2_000;

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/**
 * Returns a listener that hands the requests of each connection to `answer` one after another.
 *
 * Node hands on all requests that it finds in a chunk of 64 KiB in one turn of the event loop, up to 3,600, and
 * cannot be stopped on the way. Without this bound, a few connections that send requests ahead (HTTP pipelining) keep
 * the process from everything else for seconds, and hold a response for each request. A client that sends ahead more
 * than is taken has to send the rest again on another connection, as RFC 9112 §9.3.2 demands of it.
 *
 * While requests of a connection wait, nothing more is read from it. So it holds the rest of one chunk, and that its
 * client has left is seen when the answer is written.
 *
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

/** What the connections of a server share. */
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
    // Responses close in a later tick. Listeners of `answer` come first: what they give back, the next request can take.
    response.once('close', () => this.#next());
  }

  #next(): void {
    this.#isAnswering = false;
    // The client has left, or the last answer said that it closes the connection.
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

  /** Stops reading. Returns false where too many connections are held. */
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

  /** A connection that is closed with unread bytes is reset, and the client would lose answers that it has yet to read. */
  #close(): void {
    if (this.#isHeld) this.#letGo();
    this.socket.end();
    setTimeout(() => this.socket.destroy(), LINGER_MS).unref();
  }
}

/** Node reads on whenever it is through with a request. */
function pause(this: Socket): void {
  this.pause();
}
