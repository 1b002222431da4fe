import { TEXT_ARGUMENTS } from '../free-text-tools';
import { missingCallId } from './answer-reader';
import { CallNumbers, type CallPiece, type NumberedCall } from './call-numbers';

const MOST_HELD_CHARACTERS = 8 * 1024 * 1024;

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

/**
 * Orders the tool calls of a stream one after the other.
 *
 * The protocol lets upstreams send pieces of several calls in any order, by `index`; other dialects send one call at a
 * time. A call begins when the previous one is complete. Until then its pieces are held, up to a limit.
 */
export class CallPieces {
  readonly #numbers: CallNumbers;
  /** Calls that wait for their turn, with the arguments that have arrived. */
  readonly #waiting = new Map<NumberedCall, string>();
  #open: NumberedCall | null = null;
  #heldCharacters = 0;

  constructor(private readonly listener: CallListener) {
    this.#numbers = new CallNumbers((reason) => listener.onBroken(reason));
  }

  get heldCharacters(): number {
    return this.#heldCharacters;
  }

  push(piece: CallPiece): void {
    const call = this.#numbers.callOf(piece);
    this.#add(call, piece.text);
    while (this.#isNextDue()) this.#begin();
  }

  /** Ends the stream: passes on all held calls and ends the open one. */
  flush(): void {
    while (this.#waiting.size > 0) this.#begin();
    this.#endOpen();
  }

  #add(call: NumberedCall, text: string): void {
    if (call === this.#open) {
      this.#pass(text);
    } else if (!call.isOver) {
      this.#waiting.set(call, (this.#waiting.get(call) ?? '') + text);
      this.#heldCharacters += text.length;
      if (this.#heldCharacters > MOST_HELD_CHARACTERS) this.listener.onBroken('too much waits for its turn');
    } else if (text.trim() !== '') {
      this.listener.onBroken('a tool call goes on after its end');
    }
  }

  #isNextDue(): boolean {
    const [next] = this.#waiting.keys();
    if (next === undefined || next.name === '') return false;
    return this.#open?.balance.isClosed ?? true;
  }

  #begin(): void {
    this.#endOpen();
    const [[call, held]] = this.#waiting as unknown as [[NumberedCall, string]];
    this.#waiting.delete(call);
    this.#open = call;
    this.listener.onTurn({ id: call.id ?? missingCallId(), name: call.name });
    this.#heldCharacters -= held.length;
    this.#pass(call.isFreeText ? TEXT_ARGUMENTS.start + held : held);
  }

  #pass(text: string): void {
    if (text !== '') this.listener.onText(text);
  }

  #endOpen(): void {
    if (this.#open === null) return;
    if (this.#open.isFreeText) this.#pass(TEXT_ARGUMENTS.end);
    this.#open.isOver = true;
    this.#open = null;
  }
}
