import type { Message } from '../../model/conversation';
import type { LossLog } from '../../model/loss-report';
import { writePart, type Block } from './content-writer';

export interface Turn {
  readonly role: 'user' | 'assistant';
  readonly content: Block[];
}

export interface Conversation {
  readonly system: readonly Block[];
  readonly messages: readonly Turn[];
}

/** Put before a conversation that begins with the model: the first turn must be the user's. */
const OPENING: Block = { type: 'text', text: '.' };

/**
 * Returns a conversation in the upstream's form: instructions apart, turns of user and model alternating, tool
 * results at the start of the turn after their calls.
 */
export function writeConversation(messages: readonly Message[], log: LossLog): Conversation {
  const system: Block[] = [];
  const turns: Turn[] = [];
  for (const { role, parts, name } of messages) {
    if (name !== undefined) log.drop('name');
    const blocks = parts.flatMap((part) => writePart(part, log) ?? []);
    if (role === 'system' || role === 'developer') {
      if (turns.length > 0) log.approximate('messages.role');
      system.push(...only(blocks, (block) => block.type === 'text', log));
    } else if (role === 'assistant') {
      addTurn(turns, 'assistant', only(blocks, isModels, log));
    } else {
      addTurn(turns, 'user', only(blocks, isUsers, log));
    }
  }
  return beginning(system, turns.map(orderTurn), log);
}

/** Leaves out blocks that a turn of this role cannot hold. */
function only(blocks: readonly Block[], fits: (block: Block) => boolean, log: LossLog): Block[] {
  return blocks.filter((block) => {
    if (!fits(block)) log.drop(`messages.${block.type}`);
    return fits(block);
  });
}

function isModels({ type }: Block): boolean {
  return type === 'text' || type === 'tool_use' || type === 'thinking' || type === 'redacted_thinking';
}

function isUsers({ type }: Block): boolean {
  return type === 'text' || type === 'image' || type === 'document' || type === 'tool_result';
}

function addTurn(turns: Turn[], role: Turn['role'], blocks: readonly Block[]): void {
  const last = turns.at(-1);
  if (blocks.length === 0) return;
  if (last?.role === role) last.content.push(...blocks);
  else turns.push({ role, content: [...blocks] });
}

function orderTurn({ role, content }: Turn, index: number, turns: readonly Turn[]): Turn {
  const isResult = ({ type }: Block) => type === 'tool_result';
  if (role === 'user') {
    return { role, content: [...content.filter(isResult), ...content.filter((block) => !isResult(block))] };
  }
  // Text that the caller prefills for the model must not end in white space.
  const last = content.at(-1)!;
  if (index < turns.length - 1 || last.type !== 'text') return { role, content };
  return { role, content: [...content.slice(0, -1), { ...last, text: String(last['text']).trimEnd() }] };
}

function beginning(system: readonly Block[], turns: readonly Turn[], log: LossLog): Conversation {
  if (turns.length === 0 && system.length > 0) {
    log.approximate('messages.role');
    return { system: [], messages: [{ role: 'user', content: [...system] }] };
  }
  if (turns[0]?.role !== 'assistant') return { system, messages: turns };
  log.approximate('messages');
  return { system, messages: [{ role: 'user', content: [OPENING] }, ...turns] };
}
