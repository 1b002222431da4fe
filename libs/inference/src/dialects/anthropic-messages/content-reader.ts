import { defined, objectOf, stringOf } from '@libs/json';
import type {
  Annotation,
  CacheMark,
  FilePart,
  ImagePart,
  Part,
  TextPart,
  ToolResultPart,
} from '../../model/conversation';
import { CheckedObject } from '../checked-object';
import { readRedacted, readThinking } from './reasoning';
import { readSource } from './media';
import { toArguments } from '../tool-input';

/** Reads content: a list of blocks or one text. Names of fields that parts cannot hold are added to `unread`. */
export function readContent(owner: CheckedObject, name: string, unread: Set<string>): Part[] {
  const content = owner.value(name);
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  return owner.objects(name).flatMap((block) => readBlock(block, unread));
}

type ReadBlock = (block: CheckedObject, unread: Set<string>) => readonly Part[];

const BLOCKS: Readonly<Record<string, ReadBlock>> = {
  text: (block, unread) => [readText(block, unread)],
  image: (block) => [readImage(block)],
  document: readDocument,
  tool_use: (block, unread) => {
    if (block.has('cache_control')) unread.add('messages.content.cache_control');
    if (block.has('caller') && block.object('caller')?.value('type') !== 'direct') {
      unread.add('messages.content.caller');
    }
    const [id, name] = [block.requiredString('id'), block.requiredString('name')];
    return [{ type: 'tool-call', id, name, arguments: toArguments(block.value('input')) }];
  },
  tool_result: (block, unread) => [readToolResult(block, unread)],
  thinking: (block) => [readThinking(block.requiredString('thinking'), block.string('signature') ?? '')],
  redacted_thinking: (block) => [readRedacted(block.requiredString('data'))],
  search_result: (block, unread) => {
    unread.add('messages.content.search_result');
    return readContent(block, 'content', unread).filter(isShown);
  },
  compaction: (block, unread) => {
    if (block.has('cache_control')) unread.add('messages.content.cache_control');
    const text = block.string('content');
    return text ? [{ type: 'text', text }] : [];
  },
};

const KNOWN_WORD = /^[a-z0-9_]{1,64}$/;

function readBlock(block: CheckedObject, unread: Set<string>): readonly Part[] {
  const type = block.requiredString('type');
  if (Object.hasOwn(BLOCKS, type)) return BLOCKS[type]!(block, unread);
  unread.add(KNOWN_WORD.test(type) ? `messages.content.${type}` : 'messages.content');
  return [];
}

function readText(block: CheckedObject, unread: Set<string>): TextPart {
  const text = block.requiredString('text');
  const citations = block.objects('citations').map(({ members }) => members);
  const annotations = citations.flatMap((citation) => readCitation(citation, text.length));
  // `encrypted_index` proves a citation to the provider that made it; other APIs have no field for it.
  const areWhole = citations.every((citation) => citation['encrypted_index'] === undefined);
  if (annotations.length < citations.length || !areWhole) unread.add('messages.content.citations');
  return { type: 'text', text, ...(annotations.length > 0 && { annotations }), ...readCache(block) };
}

/**
 * Reads a citation of a web page, which applies to its whole block of `length`. Other kinds of citations have no URL.
 */
export function readCitation(citation: unknown, length: number): Annotation[] {
  const { type, url, title, cited_text: content } = objectOf(citation);
  if (type !== 'web_search_result_location' || typeof url !== 'string') return [];
  return [
    {
      type: 'url-citation',
      url,
      title: stringOf(title) ?? '',
      startIndex: 0,
      endIndex: length,
      ...(typeof content === 'string' && { content }),
    },
  ];
}

function readImage(block: CheckedObject): ImagePart {
  const source = block.requiredObject('source');
  const from = readSource(source);
  if (from === null) throw source.refuse('type', 'is not known');
  return { type: 'image', source: from, ...readCache(block) };
}

function readDocument(block: CheckedObject, unread: Set<string>): readonly (TextPart | ImagePart | FilePart)[] {
  for (const name of ['context', 'citations']) if (block.has(name)) unread.add(`messages.content.${name}`);
  const source = block.requiredObject('source');
  const from = readSource(source);
  if (from === null) {
    for (const name of ['title', 'cache_control']) if (block.has(name)) unread.add(`messages.content.${name}`);
    return readContent(source, 'content', unread).filter(isShown);
  }
  return [{ type: 'file', source: from, ...defined({ filename: block.string('title') }), ...readCache(block) }];
}

function readToolResult(block: CheckedObject, unread: Set<string>): ToolResultPart {
  return {
    type: 'tool-result',
    callId: block.requiredString('tool_use_id'),
    parts: readContent(block, 'content', unread).filter(isShown),
    ...defined({ isError: block.boolean('is_error') }),
    ...readCache(block),
  };
}

function isShown(part: Part): part is TextPart | ImagePart | FilePart {
  return part.type === 'text' || part.type === 'image' || part.type === 'file';
}

export function readCache(owner: CheckedObject): { readonly cache?: CacheMark } {
  const control = owner.object('cache_control');
  return control === undefined ? {} : { cache: defined({ ttl: control.string('ttl') }) };
}
