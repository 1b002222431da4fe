import { defined } from '@libs/json';
import type { FilePart, ImagePart, Message, Part, ReasoningPart, ToolResultPart } from '../../model/conversation';
import type { LossLog } from '../../model/loss-report';
import { writeMediaUrl } from '../../model/media-url';
import { isPicture, textOfFile } from './media';

type Json = Readonly<Record<string, unknown>>;

export interface Conversation {
  readonly messages: readonly Json[];
  /** Files of plain text, which the model may cite. */
  readonly documents: readonly Json[];
}

/** Log entry for pictures of tool results, which are moved to a user message. */
const SHOWN_BY_USER = 'messages.tool_result';

/**
 * Writes a conversation in the upstream's form: all instructions in one message at the start, text before
 * tool calls as their plan, and pictures or text that come with tool results after the last of these results.
 */
export class ConversationWriter {
  readonly #instructions: Json[] = [];
  readonly #turns: Json[] = [];
  readonly #documents: Json[] = [];
  /** Content to send as a user message after the last of several tool results. */
  #shown: Json[] = [];

  constructor(
    private readonly canThink: boolean,
    private readonly log: LossLog,
  ) {}

  write(messages: readonly Message[]): Conversation {
    for (const message of messages) this.#add(message);
    this.#show();
    const head = this.#instructions.length === 0 ? [] : [{ role: 'system', content: compact(this.#instructions) }];
    return { messages: [...head, ...this.#turns], documents: this.#documents };
  }

  #add({ role, parts, name }: Message): void {
    if (name !== undefined) this.log.drop('name');
    if (role === 'system' || role === 'developer') return this.#instruct(parts);
    const results = parts.filter((part) => part.type === 'tool-result');
    if (role === 'assistant' || results.length === 0) this.#show();
    if (role === 'assistant') return this.#assist(parts);
    for (const result of results) this.#report(result);
    const said = this.#content(parts.filter(({ type }) => type !== 'tool-result'));
    if (results.length > 0) this.#shown.push(...said);
    else if (said.length > 0) this.#turns.push({ role: 'user', content: compact(said) });
  }

  #show(): void {
    if (this.#shown.length > 0) this.#turns.push({ role: 'user', content: compact(this.#shown) });
    this.#shown = [];
  }

  #instruct(parts: readonly Part[]): void {
    if (this.#turns.length > 0) this.log.approximate('messages.role');
    this.#instructions.push(...this.#content(parts).filter((part) => part['type'] === 'text'));
  }

  #assist(parts: readonly Part[]): void {
    const said = parts.filter((part) => part.type === 'text' || part.type === 'refusal');
    const text = said.map((part) => part.text).join('');
    const calls = parts.flatMap((part) =>
      part.type === 'tool-call'
        ? [{ id: part.id, type: 'function', function: { name: part.name, arguments: part.arguments || '{}' } }]
        : [],
    );
    const thoughts = parts.flatMap((part) => (part.type === 'reasoning' ? this.#thought(part) : []));
    const spoken = text === '' || calls.length > 0 ? [] : [{ type: 'text', text }];
    const content = [...thoughts, ...spoken];
    this.#noteLosses(parts);
    if (content.length === 0 && calls.length === 0) return;
    this.#turns.push(
      defined({
        role: 'assistant',
        content: content.length === 0 ? undefined : compact(content),
        tool_plan: text !== '' && calls.length > 0 ? text : undefined,
        tool_calls: calls.length === 0 ? undefined : calls,
      }),
    );
  }

  /** Returns a thought. A signed or encrypted one is another provider's and is dropped. */
  #thought({ text, summary, signature, encrypted }: ReasoningPart): Json[] {
    const thinking = text ?? summary ?? '';
    const isForeign = signature !== undefined || encrypted !== undefined;
    if (this.canThink && !isForeign && thinking !== '') return [{ type: 'thinking', thinking }];
    this.log.drop(isForeign ? 'reasoning_details' : 'reasoning');
    return [];
  }

  /** Logs what a turn of the model cannot hold. */
  #noteLosses(parts: readonly Part[]): void {
    for (const part of parts) {
      if (part.type === 'refusal') this.log.approximate('refusal');
      else if (part.type === 'text') this.#noteText(part);
      else if (part.type !== 'tool-call' && part.type !== 'reasoning') this.log.drop(`messages.${part.type}`);
    }
  }

  #noteText({ annotations, cache }: Extract<Part, { type: 'text' }>): void {
    if (annotations) this.log.drop('annotations');
    if (cache) this.log.drop('cache_control');
  }

  #report({ callId, parts, isError, cache }: ToolResultPart): void {
    if (isError) this.log.drop('is_error');
    if (cache) this.log.drop('cache_control');
    const [content, shown]: [Json[], Json[]] = [[], []];
    for (const part of parts) {
      const text = part.type === 'file' ? textOfFile(part) : null;
      if (part.type === 'text') content.push(...this.#content([part]));
      else if (text !== null) content.push({ type: 'document', document: { data: { text, ...titleOf(part) } } });
      else shown.push(...this.#content([part]));
    }
    if (shown.length > 0) this.log.approximate(SHOWN_BY_USER);
    this.#turns.push({ role: 'tool', tool_call_id: callId, content: compact(content) });
    this.#shown.push(...shown);
  }

  #content(parts: readonly Part[]): Json[] {
    return parts.flatMap((part) => this.#part(part));
  }

  #part(part: Part): Json[] {
    switch (part.type) {
      case 'text':
        this.#noteText(part);
        return [{ type: 'text', text: part.text }];
      case 'refusal':
        return [{ type: 'text', text: part.text }];
      case 'image':
        return this.#image(part);
      case 'file':
        return this.#file(part);
      default:
        this.log.drop(`messages.${part.type}`);
        return [];
    }
  }

  #image({ source, detail, cache }: ImagePart): Json[] {
    if (cache) this.log.drop('cache_control');
    const url = writeMediaUrl(source, 'image/png');
    if (url === undefined) {
      this.log.drop('messages.image.file_id');
      return [];
    }
    if (detail === 'original') this.log.approximate('detail');
    return [{ type: 'image_url', image_url: defined({ url, detail: detail === 'original' ? 'high' : detail }) }];
  }

  #file(part: FilePart): Json[] {
    if (isPicture(part)) {
      // Only the name of the picture is lost.
      if (part.filename !== undefined) this.log.approximate('messages.file.filename');
      return this.#image({ type: 'image', source: part.source });
    }
    if (part.cache) this.log.drop('cache_control');
    const text = textOfFile(part);
    if (text === null) this.log.drop('messages.file');
    else this.#documents.push({ id: `document-${this.#documents.length}`, data: { text, ...titleOf(part) } });
    return [];
  }
}

function titleOf(part: Part): { readonly title?: string } {
  return part.type === 'file' && part.filename !== undefined ? { title: part.filename } : {};
}

/** A single plain text as a string. */
function compact(content: readonly Json[]): unknown {
  const [only] = content;
  if (only === undefined) return '';
  return content.length === 1 && only['type'] === 'text' ? only['text'] : content;
}
