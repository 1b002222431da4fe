import { defined } from '@libs/json';
import type {
  Message,
  Part,
  ReasoningFormat,
  ReasoningPart,
  ToolCallPart,
  ToolResultPart,
} from '../../model/conversation';
import type { LossLog } from '../../model/loss-report';
import { textOfArguments } from '../free-text-tools';
import { urlOfSource } from './media';

export interface WrittenInput {
  readonly instructions?: string;
  readonly input: readonly object[];
}

/** Facts about the upstream and the request that decide how items are written. */
interface InputReader {
  /** The format of the thoughts that the upstream accepts back. */
  readonly format: ReasoningFormat;
  /** Names of the tools that are called with free text. */
  readonly freeTexts: ReadonlySet<string>;
}

interface InputForm extends InputReader {
  /** Ids of the calls so far that were written with free text: their results have another type too. */
  readonly freeCalls: Set<string>;
}

type SpokenPart = Exclude<Part, { type: 'reasoning' | 'tool-call' | 'tool-result' }>;

/**
 * Returns a conversation as items. A first system message of plain text becomes the instructions; everything
 * else keeps its place. Thoughts go back only to the kind of provider that signed or encrypted them.
 */
export function writeInput(messages: readonly Message[], reader: InputReader, log: LossLog): WrittenInput {
  const [first, ...rest] = messages;
  const instructions = first === undefined ? null : plainSystemText(first);
  const listed = instructions === null ? messages : rest;
  const form: InputForm = { ...reader, freeCalls: new Set() };
  const input = listed.flatMap((message) => new MessageWriter(message, form, log).items());
  return instructions === null ? { input } : { instructions, input };
}

function plainSystemText({ role, parts, name }: Message): string | null {
  const [only] = parts;
  const isPlain = role === 'system' && parts.length === 1 && name === undefined;
  return isPlain && only?.type === 'text' && only.cache === undefined ? only.text : null;
}

class MessageWriter {
  readonly #items: object[] = [];
  #content: object[] = [];

  constructor(
    private readonly message: Message,
    private readonly form: InputForm,
    private readonly log: LossLog,
  ) {}

  items(): readonly object[] {
    const { parts, name } = this.message;
    if (name !== undefined) this.log.drop('name');
    for (const part of parts) this.#add(part);
    this.#closeMessage();
    return this.#items;
  }

  #add(part: Part): void {
    if (part.type === 'tool-call') {
      this.#push(this.#toolCall(part));
    } else if (part.type === 'tool-result') {
      this.#push(this.#toolOutput(part));
    } else if (part.type === 'reasoning') {
      this.#addReasoning(part);
    } else {
      const written = this.#spoken(part);
      if (written !== null) this.#content.push(written);
    }
  }

  #push(item: object): void {
    this.#closeMessage();
    this.#items.push(item);
  }

  #closeMessage(): void {
    const content = this.#content;
    if (content.length === 0) return;
    this.#content = [];
    const { role } = this.message;
    this.#items.push({ type: 'message', role: role === 'tool' ? 'user' : role, content });
  }

  /** Drops a thought with only an id or a summary: the upstream has not stored it and would not find it. */
  #addReasoning(part: ReasoningPart): void {
    const isOwn = part.format === this.form.format && (part.encrypted !== undefined || part.text !== undefined);
    const mayBeOwn = part.encrypted !== undefined && (part.format === undefined || part.format === 'unknown');
    if (isOwn || mayBeOwn) this.#push(thoughtOf(part));
    else this.log.drop('reasoning');
  }

  #toolCall({ id, name, arguments: args }: ToolCallPart): object {
    if (!this.form.freeTexts.has(name)) {
      // A later call may have the id of an earlier one: some upstreams number the calls of each answer anew.
      this.form.freeCalls.delete(id);
      return { type: 'function_call', call_id: id, name, arguments: args };
    }
    this.form.freeCalls.add(id);
    return { type: 'custom_tool_call', call_id: id, name, input: textOfArguments(args) };
  }

  #toolOutput({ callId, parts, isError, cache }: ToolResultPart): object {
    if (isError === true) this.log.approximate('is_error');
    if (cache) this.log.drop('cache_control');
    const output = plainOutput(parts) ?? parts.map((part) => this.#input(part));
    const type = this.form.freeCalls.has(callId) ? 'custom_tool_call_output' : 'function_call_output';
    return { type, call_id: callId, output };
  }

  #spoken(part: SpokenPart): object | null {
    if (this.message.role !== 'assistant') return this.#input(part);
    if (part.type === 'refusal') return { type: 'refusal', refusal: part.text };
    if (part.type === 'text') {
      this.#noteCache(part);
      if (part.annotations?.some(({ content }) => content !== undefined)) this.log.approximate('annotations');
      return outputText(part);
    }
    this.log.drop(part.type);
    return null;
  }

  #input(part: SpokenPart): object {
    this.#noteCache(part);
    switch (part.type) {
      case 'text':
        return { type: 'input_text', text: part.text };
      case 'refusal':
        return { type: 'input_text', text: part.text };
      case 'audio':
        return { type: 'input_audio', input_audio: { data: part.data, format: part.format } };
      case 'image':
        return { type: 'input_image', detail: part.detail ?? 'auto', ...linkOf(part.source, 'image_url') };
      case 'file':
        return defined({ type: 'input_file', filename: part.filename, ...fileOf(part.source) });
      case 'video':
        return { type: 'input_video', ...linkOf(part.source, 'video_url') };
    }
  }

  /** Logs a dropped cache mark: these upstreams cache automatically, and all but one family refuse marks. */
  #noteCache(part: SpokenPart): void {
    if ('cache' in part && part.cache !== undefined) this.log.drop('cache_control');
  }
}

/** Returns the text of a result that is nothing else; null for other results. */
function plainOutput([only, ...others]: ToolResultPart['parts']): string | null {
  if (only === undefined) return '';
  return others.length === 0 && only.type === 'text' && !only.cache ? only.text : null;
}

type Source = Extract<Part, { type: 'image' }>['source'];

function linkOf(source: Source, member: string): object {
  return source.kind === 'file-id' ? { file_id: source.id } : { [member]: urlOfSource(source) };
}

function fileOf(source: Source): object {
  if (source.kind !== 'base64') return linkOf(source, 'file_url');
  return { file_data: source.mediaType === null ? source.data : urlOfSource(source) };
}

/** Returns a thought for the upstream, without the fields that the gateway adds for callers: the API refuses them. */
function thoughtOf({ format: _format, signature: _signature, ...part }: ReasoningPart): object {
  return reasoningItem(part);
}

type TextPart = Extract<Part, { type: 'text' }>;

/** Returns a model's text for the upstream. Omits `content` of its sources, which only the gateway's API has. */
export function outputText({ text, annotations = [] }: TextPart): object {
  const sources = annotations.map(({ content: _content, ...source }) => writeAnnotation(source));
  return { type: 'output_text', text, annotations: sources };
}

export function writeAnnotation(annotation: NonNullable<TextPart['annotations']>[number]): object {
  const { url, title, startIndex, endIndex, content } = annotation;
  return defined({ type: 'url_citation', url, title, start_index: startIndex, end_index: endIndex, content });
}

/** A reasoning item with all of its content. */
export function reasoningItem(part: ReasoningPart): object {
  const { id, text, summary, encrypted, signature, format } = part;
  return defined({
    type: 'reasoning',
    id,
    summary: summary === undefined ? [] : [{ type: 'summary_text', text: summary }],
    content: text === undefined ? undefined : [{ type: 'reasoning_text', text }],
    encrypted_content: encrypted,
    signature,
    format,
  });
}
