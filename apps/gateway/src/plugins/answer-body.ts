import { findValue, spliceMembers } from '@libs/json';
import {
  APIS,
  type AnswerSource,
  type AnswerView,
  type PicoUsd,
  type StreamableApi,
  type TextPlace,
} from '@libs/inference';
import { listOf, type Fields } from '../server-tools/named-tools';
import { withCost } from './added-cost';

/** One text of an answer, which may be replaced. */
export interface AnswerText {
  readonly text: string;
  replace(text: string): void;
}

/** A whole answer on one of the three APIs as plugins see it. What no plugin changes stays byte for byte. */
export class AnswerBody {
  private readonly view: AnswerView;
  #said: readonly Fields[] | null = null;
  #isChanged = false;
  #cost: PicoUsd = 0n;

  constructor(
    api: StreamableApi,
    private readonly bytes: Buffer,
  ) {
    this.view = APIS[api].answer;
  }

  get texts(): readonly AnswerText[] {
    return this.#places().map(({ holder, member }) => ({
      text: String(holder[member]),
      replace: (text) => {
        holder[member] = text;
        this.#isChanged = true;
      },
    }));
  }

  /** Cites sources in the first text: where it names their address, or else as a whole. */
  cite(sources: readonly AnswerSource[]): void {
    const [place] = this.#places();
    if (place === undefined || sources.length === 0) return;
    const { holder, member } = place;
    const { citationsMember: name, writeSource } = this.view;
    const text = String(holder[member]);
    holder[name] = [...listOf(holder[name]), ...sources.map((source) => writeSource(source, text))];
    this.#isChanged = true;
  }

  /** Adds what plugins cost to the bill that the caller sees. */
  addCost(cost: PicoUsd): void {
    this.#cost += cost;
  }

  toBytes(): Buffer {
    const set = { [this.view.member]: JSON.stringify(this.#said) };
    const bytes = this.#isChanged ? spliceMembers(this.bytes, { set }) : this.bytes;
    return this.#cost === 0n ? bytes : withCost(bytes, this.#cost);
  }

  #places(): readonly TextPlace[] {
    return this.view.textsOf(this.#read());
  }

  #read(): readonly Fields[] {
    if (this.#said === null) {
      const value = findValue(this.bytes, [this.view.member]);
      this.#said = value === undefined ? [] : [...listOf(JSON.parse(value.toString()))];
    }
    return this.#said;
  }
}
