import type { Direction } from './link-conditions';

/** What to do with bytes that were read: pass some on, and perhaps cut the connection behind them. */
export interface Passage {
  readonly forward: Buffer;
  readonly cut: boolean;
}

/** Sees the bytes of one connection before they are passed on. */
export interface WireWatch {
  see(direction: Direction, bytes: Buffer): Passage;
}

/**
 * `commit` is a COMMIT, as a simple query or as Execute of a prepared statement; `write` is a data-changing statement
 * outside of a transaction, which commits by itself.
 */
export type CommitKind = 'commit' | 'write';

/**
 * `before`: the server never gets the statement. `after`: it was executed, and its answer never leaves the proxy.
 * `answered`: the client gets the answer, and then the server is gone.
 */
export type CommitMoment = 'before' | 'after' | 'answered';

export interface CommitCut {
  readonly when: CommitMoment;
  readonly kinds: readonly CommitKind[];
  /** Strikes only transactions with a statement whose text has this word, such as the name of a table. */
  readonly mentioning?: string;
}

/**
 * Asked at each commit that crosses the wire, with the text of every statement that it commits. An answer other than
 * null strikes this one.
 */
export type DrawCommitCut = (kind: CommitKind, statements: string) => CommitMoment | null;

const NOTHING: Buffer = Buffer.alloc(0);
const HEADER_BYTES = 5;
const [SSL_REQUEST, GSS_REQUEST] = [80_877_103, 80_877_104];
/** Messages that are read whole before they are passed on; of others only the length counts. */
const READ_WHOLE = new Set(['Q', 'P', 'B', 'E', 'S']);
const COMMIT = /^\s*(COMMIT|END)\b/i;
const CHANGE = /\b(INSERT\s+INTO|UPDATE|DELETE\s+FROM|MERGE\s+INTO)\b/i;
const IDLE = 'I';
/** Of a transaction with more text than this the rest is not looked at. */
const MOST_TEXT = 100_000;

/**
 * Follows one connection of PostgreSQL's protocol 3.0, as far as it takes to find commits and their answers. A
 * connection that turns to TLS is passed on unread.
 */
export class PostgresWatch implements WireWatch {
  #up: Buffer = NOTHING;
  #down: Buffer = NOTHING;
  /** Bytes left of a message that is passed on as it comes. */
  #upLeft = 0;
  /** Whether the message at hand is a whole one with a type; parts and the first messages of a connection are not. */
  #isWhole = false;
  #isStarting = true;
  #isOpaque = false;
  #awaitsTlsAnswer = false;
  #transaction = IDLE;
  /** Requests that the server has not answered with ReadyForQuery. */
  #unanswered = 0;
  /** The one whose answer is swallowed, counted as `#unanswered`. */
  #swallowFrom: number | null = null;
  /** The one behind whose answer the connection is cut, counted alike. */
  #cutBehind: number | null = null;
  /** Statements of the open transaction. */
  #text = '';
  readonly #statements = new Map<string, string>();
  readonly #portals = new Map<string, string>();

  constructor(private readonly draw: DrawCommitCut) {}

  see(direction: Direction, bytes: Buffer): Passage {
    if (this.#isOpaque) return { forward: bytes, cut: false };
    return direction === 'up' ? this.#seeUp(bytes) : this.#seeDown(bytes);
  }

  #seeUp(bytes: Buffer): Passage {
    this.#up = this.#up.length === 0 ? bytes : Buffer.concat([this.#up, bytes]);
    const forward: Buffer[] = [];
    for (let message = this.#nextUp(); message !== null; message = this.#nextUp()) {
      if (this.#isCutBefore(message)) return { forward: Buffer.concat(forward), cut: true };
      forward.push(message);
    }
    return { forward: Buffer.concat(forward), cut: false };
  }

  /** The next message, or a part of one that need not be read; null when more bytes are needed. */
  #nextUp(): Buffer | null {
    if (this.#upLeft > 0 && this.#up.length > 0) {
      const part = this.#takeUp(Math.min(this.#upLeft, this.#up.length));
      this.#upLeft -= part.length;
      this.#isWhole = false;
      return part;
    }
    this.#isWhole = true;
    if (this.#isStarting) return this.#nextStart();
    if (this.#up.length < HEADER_BYTES) return null;
    const length = 1 + this.#up.readInt32BE(1);
    if (this.#up.length >= length) return this.#takeUp(length);
    if (READ_WHOLE.has(this.#typeUp())) return null;
    this.#upLeft = length - this.#up.length;
    this.#isWhole = false;
    return this.#takeUp(this.#up.length);
  }

  #nextStart(): Buffer | null {
    if (this.#up.length < 8 || this.#up.length < this.#up.readInt32BE(0)) return null;
    const code = this.#up.readInt32BE(4);
    if (code === SSL_REQUEST || code === GSS_REQUEST) this.#awaitsTlsAnswer = true;
    else this.#isStarting = false;
    this.#isWhole = false;
    return this.#takeUp(this.#up.readInt32BE(0));
  }

  #typeUp(): string {
    return String.fromCharCode(this.#up[0]!);
  }

  #takeUp(length: number): Buffer {
    const taken = this.#up.subarray(0, length);
    this.#up = this.#up.subarray(length);
    return taken;
  }

  #isCutBefore(message: Buffer): boolean {
    const type = String.fromCharCode(message[0]!);
    if (!this.#isWhole || !READ_WHOLE.has(type)) return false;
    const sql = this.#sqlRunBy(type, message.subarray(HEADER_BYTES));
    const fate = sql === null ? null : this.#fateOf(sql);
    if (fate === 'before') return true;
    if (type === 'Q' || type === 'S') this.#unanswered += 1;
    // The answer to Execute ends with the ReadyForQuery of the Sync that follows it.
    const answer = this.#unanswered + (type === 'Q' ? 0 : 1);
    if (fate === 'after') this.#swallowFrom = answer;
    if (fate === 'answered') this.#cutBehind = answer;
    return false;
  }

  /** The text of the statement that this message makes the server run; null when it runs none. */
  #sqlRunBy(type: string, body: Buffer): string | null {
    const [first, second] = strings(body);
    if (type === 'Q') return first;
    if (type === 'P') this.#statements.set(first, second);
    if (type === 'B') this.#portals.set(first, this.#statements.get(second) ?? '');
    return type === 'E' ? (this.#portals.get(first) ?? '') : null;
  }

  #fateOf(sql: string): CommitMoment | null {
    if (this.#text.length < MOST_TEXT) this.#text += `${sql}\n`;
    const kind = this.#kindOf(sql);
    const isBusy = this.#swallowFrom !== null || this.#cutBehind !== null;
    return kind === null || isBusy ? null : this.draw(kind, this.#text);
  }

  #kindOf(sql: string): CommitKind | null {
    if (COMMIT.test(sql)) return 'commit';
    return this.#transaction === IDLE && CHANGE.test(sql) ? 'write' : null;
  }

  #seeDown(bytes: Buffer): Passage {
    if (this.#awaitsTlsAnswer) {
      this.#awaitsTlsAnswer = false;
      this.#isOpaque = bytes[0] !== 'N'.charCodeAt(0);
      return { forward: bytes, cut: false };
    }
    this.#down = this.#down.length === 0 ? bytes : Buffer.concat([this.#down, bytes]);
    const forward: Buffer[] = [];
    while (this.#down.length >= HEADER_BYTES && this.#down.length >= 1 + this.#down.readInt32BE(1)) {
      const length = 1 + this.#down.readInt32BE(1);
      const message = this.#down.subarray(0, length);
      this.#down = this.#down.subarray(length);
      const isSwallowed = this.#swallowFrom !== null && this.#swallowFrom <= 1;
      if (!isSwallowed) forward.push(message);
      if (message[0] !== 'Z'.charCodeAt(0)) continue;
      if (isSwallowed) return { forward: NOTHING, cut: true };
      if (this.#onReady(String.fromCharCode(message[5]!))) return { forward: Buffer.concat(forward), cut: true };
    }
    return { forward: Buffer.concat(forward), cut: false };
  }

  /** @returns whether the connection is cut behind this answer */
  #onReady(transaction: string): boolean {
    this.#transaction = transaction;
    if (transaction === IDLE) this.#text = '';
    this.#unanswered = Math.max(0, this.#unanswered - 1);
    if (this.#swallowFrom !== null) this.#swallowFrom -= 1;
    if (this.#cutBehind !== null) this.#cutBehind -= 1;
    return this.#cutBehind === 0;
  }
}

/** The two strings that begin the messages Query, Parse, Bind and Execute; empty where there are fewer. */
function strings(body: Buffer): [string, string] {
  const end = body.indexOf(0);
  if (end === -1) return ['', ''];
  const next = body.indexOf(0, end + 1);
  return [body.toString('utf8', 0, end), next === -1 ? '' : body.toString('utf8', end + 1, next)];
}
