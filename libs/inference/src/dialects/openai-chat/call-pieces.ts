import { missingCallId } from './answer-reader';

const MOST_CALLS = 1_024;
const MOST_HELD_CHARACTERS = 8 * 1024 * 1024;

/** A piece of a tool call in a stream. Null fields are not part of this piece. */
export interface CallPiece {
  readonly index: number | null;
  readonly id: string | null;
  readonly name: string | null;
  readonly text: string;
}

/** A call that has begun; only the newest one still receives text. */
export interface CallTurn {
  readonly id: string;
  readonly name: string;
}

/** Receives the calls one after the other: `onTurn` for a call, then `onText` for its arguments. */
export interface CallListener {
  onTurn(turn: CallTurn): void;
  onText(text: string): void;
  /** Called if the pieces do not form complete calls. `reason` is for our logs. */
  onBroken(reason: string): never;
}

interface Call {
  id: string | null;
  name: string;
  /** Arguments of a later call that arrived while an earlier call was open. */
  held: string;
  /** Bracket balance of all arguments of the call so far. */
  readonly balance: JsonBalance;
  state: 'waiting' | 'open' | 'over';
}

/**
 * Orders the tool calls of a stream one after the other.
 *
 * The protocol lets upstreams send pieces of several calls in any order, by `index`; other dialects send one call at a
 * time. A call begins when the previous one is complete. Until then its pieces are held, up to a limit.
 */
export class CallPieces {
  readonly #calls = new Map<number, Call>();
  /** Position of the newest call with an index, because some upstreams give several calls the same index. */
  readonly #newest = new Map<number, number>();
  #turn = 0;
  #heldCharacters = 0;

  constructor(private readonly listener: CallListener) {}

  push(piece: CallPiece): void {
    const call = this.#find(piece);
    if (piece.id) call.id ??= piece.id;
    if (piece.name && call.name === '') call.name = piece.name;
    this.#add(call, piece.text);
    while (this.#isNextDue()) this.#begin();
  }

  /** Ends the stream: passes on all held calls and ends the open one. */
  flush(): void {
    while (this.#waiting() !== undefined) this.#begin();
    this.#endOpen();
  }

  #find(piece: CallPiece): Call {
    const { index, id } = piece;
    const calls = this.#calls;
    // Without an index, a new id begins a new call; a piece without an id belongs to the last call.
    const place = index ?? (id && [...calls.values()].every((call) => call.id !== id) ? calls.size : calls.size - 1);
    const known = calls.get(this.#newest.get(place) ?? place);
    if (known !== undefined && !this.#isAnother(piece, known)) return known;
    if (calls.size === MOST_CALLS) this.listener.onBroken('too many tool calls');
    const call: Call = { id: null, name: '', held: '', balance: new JsonBalance(), state: 'waiting' };
    const key = known === undefined ? place : -1 - calls.size;
    calls.set(key, call);
    this.#newest.set(place, key);
    return call;
  }

  /** Returns whether a piece with a new id begins another call: its name differs, or the known call is complete. */
  #isAnother({ id, name }: CallPiece, known: Call): boolean {
    if (!id || !name || known.id === null || known.id === id) return false;
    return name !== known.name || this.#isWhole(known);
  }

  #isWhole({ state, balance }: Call): boolean {
    return state === 'over' || balance.isClosed;
  }

  #add(call: Call, text: string): void {
    call.balance.push(text);
    if (call.state === 'open') {
      this.#tell(text);
    } else if (call.state === 'waiting') {
      call.held += text;
      this.#heldCharacters += text.length;
      if (this.#heldCharacters > MOST_HELD_CHARACTERS) this.listener.onBroken('too much waits for its turn');
    } else if (text.trim() !== '') {
      this.listener.onBroken('a tool call goes on after its end');
    }
  }

  #isNextDue(): boolean {
    const next = this.#waiting();
    if (next === undefined || next.name === '') return false;
    return this.#open()?.balance.isClosed ?? true;
  }

  #begin(): void {
    this.#endOpen();
    const call = this.#waiting()!;
    call.state = 'open';
    this.listener.onTurn({ id: call.id ?? missingCallId(this.#turn), name: call.name });
    this.#turn += 1;
    this.#heldCharacters -= call.held.length;
    this.#tell(call.held);
    call.held = '';
  }

  #tell(text: string): void {
    if (text === '') return;
    this.listener.onText(text);
  }

  #endOpen(): void {
    const open = this.#open();
    if (open !== undefined) open.state = 'over';
  }

  #waiting(): Call | undefined {
    return this.#first('waiting');
  }

  #open(): Call | undefined {
    return this.#first('open');
  }

  #first(state: Call['state']): Call | undefined {
    for (const call of this.#calls.values()) if (call.state === state) return call;
    return undefined;
  }
}

/** Finds where JSON text in pieces closes its first bracket, without keeping the text. */
class JsonBalance {
  #depth = 0;
  #hasBegun = false;
  #isInString = false;
  #isEscaped = false;

  get isClosed(): boolean {
    return this.#hasBegun && this.#depth === 0;
  }

  push(text: string): void {
    for (const character of text) this.#step(character);
  }

  #step(character: string): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (this.#isInString) this.#stepInString(character);
    else if (character === '"') this.#isInString = true;
    else if (character === '{' || character === '[') {
      this.#depth += 1;
      this.#hasBegun = true;
    } else if (character === '}' || character === ']') this.#depth -= 1;
  }

  #stepInString(character: string): void {
    if (character === '\\') this.#isEscaped = true;
    else if (character === '"') this.#isInString = false;
  }
}
