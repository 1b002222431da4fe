import { TEXT_ARGUMENTS } from '../free-text-tools';

/** A piece of a tool call in a stream. Null fields are not part of this piece. */
export interface CallPiece {
  readonly index: number | null;
  readonly id: string | null;
  readonly name: string | null;
  readonly text: string;
  /** True for a piece of the free text of a custom tool, as it is inside the arguments. */
  readonly isFreeText?: boolean;
}

/** A tool call of a stream, as far as it has arrived. */
export interface NumberedCall {
  /** Its index among the calls of the answer. No other call has it. */
  readonly number: number;
  id: string | null;
  name: string;
  /** True if its arguments hold the free text of a custom tool, whose end the protocol does not show. */
  readonly isFreeText: boolean;
  /** Bracket balance of all arguments so far. */
  readonly balance: JsonBalance;
  /** True if another part of the answer has begun after it. */
  isOver: boolean;
}

const MOST_CALLS = 1_024;

/**
 * Finds the call to which a piece of a stream belongs.
 *
 * The protocol numbers calls by `index`. Some upstreams leave it out, or give several calls the same one, as Google
 * does: then the id, the name and the end of the arguments tell calls apart.
 */
export class CallNumbers {
  /** The newest call under each index of the upstream. */
  readonly #newest = new Map<number, NumberedCall>();
  readonly #calls: NumberedCall[] = [];
  readonly #taken = new Set<number>();

  /** @param onBroken called if there are too many calls; `reason` is for our logs */
  constructor(private readonly onBroken: (reason: string) => never) {}

  /** Returns the call of a piece, with its id, name and arguments. */
  callOf(piece: CallPiece): NumberedCall {
    const known = this.#knownOf(piece);
    const call = known === undefined || isAnother(piece, known) ? this.#begin(piece) : known;
    if (piece.id) call.id ??= piece.id;
    if (piece.name && call.name === '') call.name = piece.name;
    call.balance.push(piece.text);
    return call;
  }

  #knownOf({ index, id, name }: CallPiece): NumberedCall | undefined {
    if (index !== null) return this.#newest.get(index);
    if (id) return this.#calls.find((call) => call.id === id);
    const last = this.#calls.at(-1);
    return name && last !== undefined && isWhole(last) ? undefined : last;
  }

  #begin({ index, isFreeText = false }: CallPiece): NumberedCall {
    if (this.#calls.length === MOST_CALLS) this.onBroken('too many tool calls');
    const number = index === null || this.#taken.has(index) ? this.#free() : index;
    const call: NumberedCall = { number, id: null, name: '', isFreeText, balance: new JsonBalance(), isOver: false };
    if (isFreeText) call.balance.push(TEXT_ARGUMENTS.start);
    this.#calls.push(call);
    this.#taken.add(number);
    this.#newest.set(index ?? number, call);
    return call;
  }

  #free(): number {
    let number = this.#calls.length;
    while (this.#taken.has(number)) number += 1;
    return number;
  }
}

/** Returns whether a piece begins another call than the known one: its id differs, and its name or the end says so. */
function isAnother({ id, name }: CallPiece, known: NumberedCall): boolean {
  if (!id || !name || known.id === null || known.id === id) return false;
  return name !== known.name || isWhole(known);
}

function isWhole({ isOver, balance }: NumberedCall): boolean {
  return isOver || balance.isClosed;
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
