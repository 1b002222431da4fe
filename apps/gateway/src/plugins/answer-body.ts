import { findValue, spliceMembers, type PicoUsd, type StreamableApi } from '@libs/inference';
import { fieldsOf, listOf, type Fields } from '../server-tools/named-tools';
import type { ToolSource } from '../server-tools/server-tool';
import { spanOf } from '../server-tools/source-placer';
import { withCost } from './costed-stream';

/** One text of an answer, which may be replaced. */
export interface AnswerText {
  readonly text: string;
  replace(text: string): void;
}

interface Place {
  readonly holder: Record<string, unknown>;
  readonly member: 'content' | 'text';
}

/** The member that holds what the model said. */
const MEMBERS = { chat: 'choices', responses: 'output', messages: 'content' } as const;

/** A whole answer on one of the three APIs as plugins see it. What no plugin changes stays byte for byte. */
export class AnswerBody {
  #said: Fields[] | null = null;
  #isChanged = false;
  #cost: PicoUsd = 0n;

  constructor(
    readonly api: StreamableApi,
    private readonly bytes: Buffer,
  ) {}

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
  cite(sources: readonly ToolSource[]): void {
    const [place] = this.#places();
    if (place === undefined || sources.length === 0) return;
    const { holder, member } = place;
    const name = this.api === 'messages' ? 'citations' : 'annotations';
    const text = String(holder[member]);
    holder[name] = [...listOf(holder[name]), ...sources.map((source) => writeSource(this.api, source, text))];
    this.#isChanged = true;
  }

  /** Adds what plugins cost to the bill that the caller sees. */
  addCost(cost: PicoUsd): void {
    this.#cost += cost;
  }

  toBytes(): Buffer {
    const set = { [MEMBERS[this.api]]: JSON.stringify(this.#said) };
    const bytes = this.#isChanged ? spliceMembers(this.bytes, { set }) : this.bytes;
    return this.#cost === 0n ? bytes : withCost(bytes, this.#cost);
  }

  #places(): readonly Place[] {
    const said = this.#read();
    switch (this.api) {
      case 'chat':
        return said.flatMap(({ message }) => placeAt(message, 'content'));
      case 'responses':
        return said
          .filter(({ type }) => type === 'message')
          .flatMap(({ content }) => listOf(content).filter(({ type }) => type === 'output_text'))
          .flatMap((part) => placeAt(part, 'text'));
      case 'messages':
        return said.filter(({ type }) => type === 'text').flatMap((part) => placeAt(part, 'text'));
    }
  }

  #read(): readonly Fields[] {
    if (this.#said === null) {
      const value = findValue(this.bytes, [MEMBERS[this.api]]);
      this.#said = value === undefined ? [] : [...listOf(JSON.parse(value.toString()))];
    }
    return this.#said;
  }
}

/** How an API writes a source of a text. Of a text that is not known yet nothing can be said but the source. */
export function writeSource(api: StreamableApi, { url, title, content }: ToolSource, text = ''): object {
  const { startIndex, endIndex } = spanOf(url, text) ?? { startIndex: 0, endIndex: text.length };
  const place = { start_index: startIndex, end_index: endIndex };
  const told = { url, title, ...(content !== undefined && { content }) };
  switch (api) {
    case 'chat':
      return { type: 'url_citation', url_citation: { ...told, ...place } };
    case 'responses':
      return { type: 'url_citation', url, title, ...place };
    case 'messages':
      return { type: 'web_search_result_location', url, title, cited_text: content ?? '', encrypted_index: '' };
  }
}

function placeAt(value: unknown, member: Place['member']): readonly Place[] {
  const holder = fieldsOf(value) as Record<string, unknown>;
  return typeof holder[member] === 'string' ? [{ holder, member }] : [];
}
