import type { CanonicalRequest } from '../../model/canonical-request';
import type { CacheMark, Message } from '../../model/conversation';
import type { LossLog } from '../../model/loss-report';
import { cachePoint } from './cache-mark';
import { ContentWriter, NOTHING, plainBlock, type ContentBlock } from './content-writer';
import type { ModelFamily } from './traits';

export interface Turn {
  readonly role: 'user' | 'assistant';
  readonly content: ContentBlock[];
}

export interface Conversation {
  readonly system: readonly ContentBlock[];
  readonly turns: readonly Turn[];
}

type Kind = ContentBlock['kind'];

const BY_SYSTEM: readonly Kind[] = ['text'];
const BY_USER: readonly Kind[] = ['text', 'image', 'document', 'video', 'audio', 'toolResult'];
const BY_MODEL: readonly Kind[] = ['text', 'toolUse', 'reasoningContent'];

/**
 * Returns a conversation in Bedrock's form: instructions apart, turns of user and model alternating, the user's
 * first; tool results at the start of the turn after their calls; text next to every document.
 */
export function readTurns(request: CanonicalRequest, family: ModelFamily, log: LossLog): Conversation {
  const writer = new ContentWriter(family, log);
  const system: ContentBlock[] = [];
  const turns: Turn[] = [];
  for (const { role, parts, name } of request.messages) {
    if (name !== undefined) log.drop('name');
    const blocks = parts.flatMap((part) => writer.write(part));
    if (role === 'system' || role === 'developer') {
      if (turns.length > 0) log.approximate('messages.role');
      system.push(...only(blocks, BY_SYSTEM, log));
    } else {
      addTurn(turns, role, only(blocks, role === 'assistant' ? BY_MODEL : BY_USER, log));
    }
  }
  return withOpening(system, turns.map(orderTurn), log);
}

/** Leaves out blocks that a turn of this role cannot hold. */
function only(blocks: readonly ContentBlock[], kinds: readonly Kind[], log: LossLog): ContentBlock[] {
  return blocks.filter(({ kind }) => {
    if (!kinds.includes(kind)) log.drop(`messages.${kind}`);
    return kinds.includes(kind);
  });
}

function addTurn(turns: Turn[], of: Message['role'], blocks: readonly ContentBlock[]): void {
  const role = of === 'assistant' ? 'assistant' : 'user';
  const last = turns.at(-1);
  if (blocks.length === 0) return;
  if (last?.role === role) last.content.push(...blocks);
  else turns.push({ role, content: [...blocks] });
}

function orderTurn({ role, content }: Turn, index: number, turns: readonly Turn[]): Turn {
  if (role === 'user') {
    const results = content.filter(({ kind }) => kind === 'toolResult');
    const rest = content.filter(({ kind }) => kind !== 'toolResult');
    const isWordless = rest.some(({ kind }) => kind === 'document') && !rest.some(({ kind }) => kind === 'text');
    return { role, content: [...results, ...rest, ...(isWordless ? [NOTHING] : [])] };
  }
  // Text that the caller prefills for the model must not end in white space.
  const last = content.at(-1)!;
  if (index < turns.length - 1 || last.kind !== 'text') return { role, content };
  return { role, content: [...content.slice(0, -1), { ...last, value: String(last.value).trimEnd() }] };
}

function withOpening(system: readonly ContentBlock[], turns: readonly Turn[], log: LossLog): Conversation {
  if (turns.length === 0 && system.length > 0) {
    log.approximate('messages.role');
    return { system: [], turns: [{ role: 'user', content: [...system] }] };
  }
  if (turns[0]?.role !== 'assistant') return { system, turns };
  log.approximate('messages');
  return { system, turns: [{ role: 'user', content: [NOTHING] }, ...turns] };
}

/** Writes `system` and `messages`. A cache mark of the whole request goes after its last block. */
export function writeTurns(
  { system, turns }: Conversation,
  whole: CacheMark | undefined,
  family: ModelFamily,
  log: LossLog,
): { readonly system?: readonly object[]; readonly messages: readonly object[] } {
  const write = (blocks: readonly ContentBlock[], mark?: CacheMark): object[] =>
    blocks.flatMap((block, index) => {
      const cache = block.cache ?? (index === blocks.length - 1 ? mark : undefined);
      return [plainBlock(block), ...cachePoint(cache, 'messages', family, log)];
    });
  if (whole !== undefined) noteLostMark(whole, turns.at(-1)?.content.at(-1), log);
  const messages = turns.map(({ role, content }, index) => ({
    role,
    content: write(content, index === turns.length - 1 ? whole : undefined),
  }));
  return { ...(system.length > 0 && { system: write(system) }), messages };
}

/** There can be one mark after a block, and none without a block. */
function noteLostMark(whole: CacheMark, last: ContentBlock | undefined, log: LossLog): void {
  if (last === undefined) log.drop('cache_control');
  else if (last.cache !== undefined && last.cache.ttl !== whole.ttl) log.approximate('cache_control');
}
