import { findResponsesGrammarProblems } from '@libs/inference/testing';
import type { UpstreamDialect } from '../support/provider-scripts';

/** One event as a caller reads it. */
export interface ReadEvent {
  /** `[DONE]`, the type of the event, or on chat `error`, `usage` or `chunk`, whichever holds first. */
  readonly name: string;
  readonly data: string;
  readonly members: Readonly<Record<string, unknown>>;
}

interface Choice {
  readonly finish_reason?: string | null;
}

/** The events of a stream, comments left out. @throws Error for what is none */
export function readEvents(api: UpstreamDialect, text: string): ReadEvent[] {
  if (!text.endsWith('\n\n')) throw new Error(`the last event is not closed: ${text.slice(-80)}`);
  return text
    .slice(0, -2)
    .split('\n\n')
    .filter((block) => !block.startsWith(':'))
    .map((block) => readEvent(api, block));
}

function readEvent(api: UpstreamDialect, block: string): ReadEvent {
  const lines = block.split('\n');
  const fieldOf = (name: string): string[] =>
    lines.filter((line) => line.startsWith(`${name}: `)).map((line) => line.slice(name.length + 2));
  const [field] = fieldOf('event');
  const data = fieldOf('data').join('\n');
  if (data === '[DONE]') return { name: '[DONE]', data, members: {} };
  const members = JSON.parse(data) as Record<string, unknown>;
  if (api === 'messages' && field !== members['type']) throw new Error(`an event is called ${field}: ${data}`);
  return { name: api === 'chat' ? chunkName(members) : String(members['type']), data, members };
}

function chunkName({ error, usage }: Readonly<Record<string, unknown>>): string {
  if (error !== undefined) return 'error';
  return usage === undefined || usage === null ? 'chunk' : 'usage';
}

/** What breaks the rules of the API between the first event and the last one. */
export function findProblems(api: UpstreamDialect, events: readonly ReadEvent[]): string[] {
  if (api === 'responses') return findResponsesGrammarProblems(events.map(({ data }) => data));
  return api === 'chat' ? findChatProblems(events) : findMessagesProblems(events);
}

function findChatProblems(events: readonly ReadEvent[]): string[] {
  const reasons = events.flatMap(({ members }) =>
    ((members['choices'] ?? []) as Choice[]).flatMap(({ finish_reason: reason }) => reason ?? []),
  );
  const isWhole = events.every(
    ({ name, members }) => name === '[DONE]' || members['object'] === 'chat.completion.chunk',
  );
  return [
    ...(reasons.length === 1 ? [] : [`finish reasons: ${reasons.join(', ')}`]),
    ...(isWhole ? [] : ['what is no chunk']),
  ];
}

/** A message starts once, blocks begin in order and end once; only an error may leave one open. */
function findMessagesProblems(events: readonly ReadEvent[]): string[] {
  const problems: string[] = [];
  const open = new Set<unknown>();
  let begun = 0;
  const rules: Readonly<Record<string, (index: unknown) => boolean>> = {
    content_block_start: (index) => open.add(index).size > 0 && index === begun++,
    content_block_delta: (index) => open.has(index),
    content_block_stop: (index) => open.delete(index),
  };
  for (const [place, { name, members }] of events.entries()) {
    if ((name === 'message_start') !== (place === 0)) problems.push(`${name} at place ${place}`);
    if (rules[name]?.(members['index']) === false) problems.push(`${name} of block ${String(members['index'])}`);
  }
  if (events.at(-1)?.name !== 'error' && open.size > 0) problems.push('a block that does not end');
  return problems;
}
