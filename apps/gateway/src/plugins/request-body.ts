import { spliceMembers } from '@libs/json';
import { APIS, type FilePart, type ReadFile, type StreamableApi } from '@libs/inference';
import { fieldsOf, listOf, type Fields } from '../server-tools/named-tools';

const TEXT_TYPES = new Set<unknown>(['text', 'input_text', 'output_text']);
const SYSTEM_ROLES = new Set<unknown>(['system', 'developer']);

/** Whether a part of a turn's content is text, on any of the APIs. */
export function isTextPart(part: Fields): part is Fields & { readonly text: string } {
  return TEXT_TYPES.has(part['type']) && typeof part['text'] === 'string';
}

/**
 * The body of a request on one of the three APIs in the form that plugins use: turns with roles and content. Parts that
 * no plugin changes keep their bytes. Immutable; the body is validated.
 */
export class RequestBody {
  constructor(
    readonly api: StreamableApi,
    readonly bytes: Buffer,
    readonly parsed: Fields,
  ) {}

  /** The messages, or the items of a Responses request. An input that is a text counts as one turn of the user. */
  get turns(): readonly Fields[] {
    const turns = this.parsed[this.#member];
    return typeof turns === 'string' ? [{ role: 'user', content: turns }] : listOf(turns);
  }

  withTurns(turns: readonly Fields[]): RequestBody {
    const member = this.#member;
    const bytes = spliceMembers(this.bytes, { set: { [member]: JSON.stringify(turns) } });
    return new RequestBody(this.api, bytes, { ...this.parsed, [member]: turns });
  }

  /** Returns a text as a part of a user's turn. */
  textPart(text: string): Fields {
    return { type: APIS[this.api].turns.textType, text };
  }

  /** Returns the file of a part of a turn; null for other parts, and for a file that only its provider has. */
  fileOf(part: Fields): FilePart | null {
    return APIS[this.api].turns.fileOf(part);
  }

  /** Returns the files that earlier answers gave the text of; null for APIs whose answers cannot hold files. */
  get readFiles(): readonly ReadFile[] | null {
    const { answeredFiles } = APIS[this.api].turns;
    return answeredFiles === undefined ? null : this.turns.flatMap(answeredFiles.in);
  }

  /** Returns a turn without such files. */
  withoutReadFiles(turn: Fields): Fields {
    return APIS[this.api].turns.answeredFiles?.takenFrom(turn) ?? turn;
  }

  /** Returns the path of a part, as errors name it. */
  pathOf(turn: number, part: number): string {
    return `${this.#member}[${turn}].content[${part}]`;
  }

  /** The text of the user's last turn; empty if there is none. */
  get lastUserText(): string {
    return textsOf(this.turns[this.#lastUserTurn] ?? {}).join('\n');
  }

  /** Returns all texts for the model, of every role. */
  get texts(): readonly string[] {
    const { instructions, system } = this.parsed;
    const first = [instructions, system].flatMap((content) => textsOf({ content }));
    return [...first, ...this.turns.flatMap(textsOf)];
  }

  /** Inserts a text before the text of the user's last turn. */
  withContext(context: string): RequestBody {
    const at = this.#lastUserTurn;
    return this.withTurns(this.turns.map((turn, index) => (index === at ? this.#before(turn, context) : turn)));
  }

  get #member(): 'input' | 'messages' {
    return APIS[this.api].turns.member;
  }

  get #lastUserTurn(): number {
    return this.turns.findLastIndex((turn) => turn['role'] === 'user' && textsOf(turn).length > 0);
  }

  #before(turn: Fields, context: string): Fields {
    const { content } = turn;
    if (typeof content === 'string') return { ...turn, content: `${context}\n\n${content}` };
    const parts = listOf(content);
    // Tool results that precede the user's text must stay before it.
    const at = parts.findIndex(isTextPart);
    return { ...turn, content: parts.toSpliced(at, 0, this.textPart(context)) };
  }
}

/** Returns whether a turn instructs the model how to behave. */
export function isSystemTurn(turn: Fields): boolean {
  return SYSTEM_ROLES.has(turn['role']);
}

/** The texts of a turn's content. */
export function textsOf({ content }: Fields): readonly string[] {
  if (typeof content === 'string') return content === '' ? [] : [content];
  return listOf(content)
    .map(fieldsOf)
    .filter(isTextPart)
    .map(({ text }) => text);
}
