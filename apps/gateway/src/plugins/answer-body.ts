import { findValue, spliceMembers } from '@libs/json';
import {
  APIS,
  type AnswerSource,
  type AnswerView,
  type PicoUsd,
  type ReadFile,
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

/**
 * A whole answer on one of the three APIs in the form that plugins use. Parts that no plugin changes keep their bytes.
 */
export class AnswerBody {
  private readonly view: AnswerView;
  #said: readonly Fields[] | null = null;
  #isChanged = false;
  #cost: PicoUsd = 0n;
  #shown: Fields = {};

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

  /** Cites sources in the first text: at the position of their URL, or else as the whole text. */
  cite(sources: readonly AnswerSource[]): void {
    const [place] = this.#places();
    if (place === undefined || sources.length === 0) return;
    const { holder, member } = place;
    const { citationsMember: name, writeSource } = this.view;
    const text = String(holder[member]);
    holder[name] = [...listOf(holder[name]), ...sources.map((source) => writeSource(source, text))];
    this.#isChanged = true;
  }

  /** Gives the texts of files to the caller, on APIs that have annotations of files. */
  attach(files: readonly ReadFile[]): void {
    const { citationsMember: name, writeFile } = this.view;
    const [place] = this.#places();
    if (place === undefined || writeFile === undefined || files.length === 0) return;
    const { holder } = place;
    holder[name] = [...listOf(holder[name]), ...files.map(writeFile)];
    this.#isChanged = true;
  }

  /** Adds the cost of plugins to the bill that the caller sees. */
  addCost(cost: PicoUsd): void {
    this.#cost += cost;
  }

  /** Adds members to the answer. */
  show(members: Fields): void {
    this.#shown = { ...this.#shown, ...members };
  }

  toBytes(): Buffer {
    const said = this.#isChanged ? { [this.view.member]: this.#said } : {};
    const changed = Object.entries({ ...this.#shown, ...said });
    const set = Object.fromEntries(changed.map(([name, value]) => [name, JSON.stringify(value)]));
    const bytes = changed.length === 0 ? this.bytes : spliceMembers(this.bytes, { set });
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

/** Returns the usage of a whole answer with a further cost added; null if it has none. */
export function usageOf(answer: Buffer, cost: PicoUsd): unknown {
  const usage = findValue(cost === 0n ? answer : withCost(answer, cost), ['usage']);
  return usage === undefined ? null : JSON.parse(usage.toString());
}
