import { StringDecoder } from 'node:string_decoder';
import { AppError } from '@libs/errors';
import { findValue } from '@libs/json';
import { upstreamStatusOf } from '../wire/upstream-error';

const MEMBER = 'echo_upstream_body';
/** Bytes of the upstream body that are echoed. An echo waits in memory until its caller reads it. */
const LONGEST_ECHO_BYTES = 64 * 1024;

/**
 * How far a call to a provider got. `adapter_request`: the request is being sent. `upstream_body_ended`: the provider
 * refused the call; streams show a call before its answer has ended.
 */
type Reached = 'adapter_request' | 'upstream_headers_received' | 'first_token_received' | 'upstream_body_ended';

interface DebuggedCall {
  readonly echo: string;
  reached: Reached;
  atMs: number;
}

/**
 * What a streamed answer shows a caller that set `debug.echo_upstream_body`: of each provider that was tried, the body it
 * was sent, how far the call got, and when.
 */
export class StreamDebug {
  readonly #startedMs = Date.now();
  #calls: DebuggedCall[] = [];

  /** Returns null if the request does not ask for it. */
  static askedIn(body: Buffer): StreamDebug | null {
    const isAsked = body.includes(MEMBER) && findValue(body, ['debug', MEMBER])?.toString() === 'true';
    return isAsked ? new StreamDebug() : null;
  }

  /** Makes a call that sends this body, and notes how far it gets. Of a long body, only the beginning is echoed, as text. */
  async watch<T>(body: Buffer, call: () => Promise<T>): Promise<T> {
    this.#calls.push({ echo: echoOf(body), reached: 'adapter_request', atMs: Date.now() });
    try {
      const opened = await call();
      this.reached('upstream_headers_received');
      return opened;
    } catch (thrown) {
      if (thrown instanceof AppError && upstreamStatusOf(thrown) !== null) this.reached('upstream_body_ended');
      throw thrown;
    }
  }

  /** The latest call got so far. */
  reached(event: Reached): void {
    const call = this.#calls.at(-1);
    if (call !== undefined) Object.assign(call, { reached: event, atMs: Date.now() });
  }

  /** Returns a `debug` object for each call, as JSON in one line; none when called again. Stream writers begin with them. */
  take(): readonly string[] {
    const calls = this.#calls;
    this.#calls = [];
    return calls.map(({ echo, reached, atMs }) => {
      const startMs = Math.max(0, atMs - this.#startedMs);
      return `{"${MEMBER}":${echo},"timings":{"event":"${reached}","start_ms":${startMs},"epoch_ms":${atMs}}}`;
    });
  }
}

function echoOf(sent: Buffer): string {
  if (sent.length <= LONGEST_ECHO_BYTES) return inOneLine(sent);
  // StringDecoder leaves out a character that is cut at the end.
  const beginning = new StringDecoder('utf8').write(sent.subarray(0, LONGEST_ECHO_BYTES));
  return JSON.stringify({ is_truncated: true, length_bytes: sent.length, beginning });
}

/** Returns JSON in one line, as event data must be. Line breaks can only be white space between JSON tokens. */
function inOneLine(json: Buffer): string {
  return json.toString().replace(/[\r\n]/g, ' ');
}
