import { findCacheControlProblem } from '../inference/cache-control';
import { isAbsent, isNonEmptyString, isPlainObject } from '../validation/well-formed';

const ROLES = ['user', 'assistant', 'system'];

/** Checks `messages` of a messages request: roles and known blocks. Unknown blocks are not checked. */
export function findMessageListProblem(messages: unknown): string | null {
  if (!Array.isArray(messages) || messages.length === 0) return ' must be a non-empty array';
  return firstProblem(messages, findMessageProblem);
}

function findMessageProblem(message: unknown): string | null {
  if (!isPlainObject(message)) return ' must be an object';
  const { role } = message;
  if (typeof role !== 'string' || !ROLES.includes(role)) return `.role must be one of ${ROLES.join(', ')}`;
  const problem = findContentProblem(message.content);
  return problem === null ? null : `.content${problem}`;
}

function findContentProblem(content: unknown): string | null {
  if (typeof content === 'string') return null;
  if (!Array.isArray(content)) return ' must be a string or an array of blocks';
  return firstProblem(content, findBlockProblem);
}

type Block = Record<string, unknown>;

const BLOCKS: Readonly<Record<string, (block: Block) => string | null>> = {
  text: (block) => findTextsProblem(block, 'text'),
  image: findSourceProblem,
  document: findSourceProblem,
  tool_use: (block) => findNamesProblem(block, 'id', 'name'),
  tool_result: (block) => findNamesProblem(block, 'tool_use_id') ?? findResultProblem(block),
  thinking: (block) => findTextsProblem(block, 'thinking', 'signature'),
  redacted_thinking: (block) => findTextsProblem(block, 'data'),
};

function findBlockProblem(block: unknown): string | null {
  if (!isPlainObject(block) || !isNonEmptyString(block.type)) return '.type must be a non-empty string';
  const problem = Object.hasOwn(BLOCKS, block.type) ? BLOCKS[block.type]!(block) : null;
  return problem ?? findCacheMarkProblem(block);
}

function findTextsProblem(block: Block, ...names: string[]): string | null {
  const missing = names.find((name) => typeof block[name] !== 'string');
  return missing === undefined ? null : `.${missing} must be a string`;
}

function findNamesProblem(block: Block, ...names: string[]): string | null {
  const missing = names.find((name) => !isNonEmptyString(block[name]));
  return missing === undefined ? null : `.${missing} must be a non-empty string`;
}

/** The text fields that each kind of source must have. */
const SOURCES: Readonly<Record<string, readonly string[]>> = {
  base64: ['media_type', 'data'],
  text: ['data'],
  url: ['url'],
  file: ['file_id'],
};

function findSourceProblem({ source }: Block): string | null {
  if (!isPlainObject(source) || !isNonEmptyString(source.type)) return '.source.type must be a non-empty string';
  const names = Object.hasOwn(SOURCES, source.type) ? SOURCES[source.type]! : [];
  const problem = findNamesProblem(source, ...names);
  if (problem !== null) return `.source${problem}`;
  // A document may be made of blocks, which may be pictures.
  const inner = Array.isArray(source.content) ? firstProblem(source.content, findBlockProblem) : null;
  return inner === null ? null : `.source.content${inner}`;
}

function findResultProblem({ content }: Block): string | null {
  if (content === undefined || content === null) return null;
  const problem = findContentProblem(content);
  return problem === null ? null : `.content${problem}`;
}

/** Checks `system`: a text, or blocks of text. */
export function findSystemProblem(system: unknown): string | null {
  if (typeof system === 'string') return null;
  if (!Array.isArray(system)) return ' must be a string or an array of text blocks';
  return firstProblem(system, (block) => {
    if (!isPlainObject(block) || block.type !== 'text') return '.type must be text';
    return findBlockProblem(block);
  });
}

function findCacheMarkProblem({ cache_control: control }: Block): string | null {
  const problem = isAbsent(control) ? null : findCacheControlProblem(control);
  return problem === null ? null : `.cache_control${problem}`;
}

/** The problem of the first element that has one, behind its index. */
export function firstProblem(list: readonly unknown[], find: (element: unknown) => string | null): string | null {
  for (let index = 0; index < list.length; index += 1) {
    const problem = find(list[index]);
    if (problem !== null) return `[${index}]${problem}`;
  }
  return null;
}
