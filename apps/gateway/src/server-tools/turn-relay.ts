import { AnswerFold, type AnswerEvent, type AnswerPart, type CanonicalRequest, type Message } from '@libs/inference';
import type { PlannedTool } from './server-tool-plan';
import type { ToolOutcome } from './server-tool';
import type { ToolCall } from './tool-runner';

/** UTF-16 units of a result that its record shows. */
const LONGEST_RECORD = 16 * 1024;

/** A call of one of our tools, and where the answer shows it. */
export interface RelayedCall extends ToolCall {
  /** Number of the call's part in the answer. */
  readonly part: number;
}

/** State that the turns of one answer share. */
export interface RelayScope {
  readonly tools: ReadonlyMap<string, PlannedTool>;
  /** Whether the caller's API has output items for our tools. */
  readonly showsItems: boolean;
  /** Numbers the parts of the answer. */
  readonly nextPart: () => number;
  /** Ids of all tool calls of the conversation so far. */
  readonly callIds: Set<string>;
}

/** Position of a part of the turn in the answer; null: it is not shown. */
type Place = number | null;

/**
 * Copies one turn into the answer. Parts are numbered through all turns. Calls of gateway tools become items or are
 * hidden. What only a whole answer has (its start, its end, its usage) is left out.
 */
export class TurnRelay {
  readonly #fold = new AnswerFold();
  readonly #places = new Map<number, Place>();
  readonly #calls: { readonly number: number; readonly part: number; readonly tool: PlannedTool }[] = [];
  #hasOtherCalls = false;
  #serviceTier: string | undefined;

  constructor(
    private readonly scope: RelayScope,
    /** False in a turn that may not call tools: calls of gateway tools in it are ignored. */
    private readonly mayCall: boolean,
    private readonly hidesSeals = false,
  ) {}

  /** Calls of the caller's own functions. */
  get hasOtherCalls(): boolean {
    return this.#hasOtherCalls;
  }

  /** The tier that served, if the upstream reports it. */
  get serviceTier(): string | undefined {
    return this.#serviceTier;
  }

  /** Calls of our tools, in their order. */
  get calls(): readonly RelayedCall[] {
    return this.#calls.flatMap(({ number, part, tool }) => {
      const said = this.#fold.part(number);
      return said?.type === 'tool-call' ? [{ id: said.id, arguments: said.arguments, tool, part }] : [];
    });
  }

  /** Every name under which something was called. */
  get called(): ReadonlySet<string> {
    const names = this.#fold.parts.filter(isCall).map(({ name }) => name);
    return new Set([...names, ...this.#calls.flatMap(({ tool }) => [tool.name, tool.itemType])]);
  }

  /** Returns the model's output as the next message of the conversation. */
  toMessage(): Message {
    return this.#fold.toMessage();
  }

  pass(said: AnswerEvent): readonly AnswerEvent[] {
    const event = this.#identified(said);
    this.#fold.add(event);
    if (event.type === 'part-start') return this.#begin(event);
    if (event.type === 'finish') this.#serviceTier = event.serviceTier;
    if (!('part' in event)) return [];
    const part = this.#places.get(event.part) ?? null;
    return part === null ? [] : [this.#shown({ ...event, part })];
  }

  #shown(event: AnswerEvent): AnswerEvent {
    if (!this.hidesSeals || event.type !== 'reasoning-delta' || event.delta.encrypted === undefined) return event;
    const { encrypted: _encrypted, ...delta } = event.delta;
    return { ...event, delta };
  }

  /**
   * Makes ids unique: some upstreams number the calls of each answer from the start, so the conversation could contain
   * an id twice.
   */
  #identified(event: AnswerEvent): AnswerEvent {
    if (event.type !== 'part-start' || event.kind !== 'tool-call') return event;
    const { callIds } = this.scope;
    let { id } = event;
    for (let number = callIds.size; callIds.has(id); number += 1) id = `${event.id}_${number}`;
    callIds.add(id);
    return { ...event, id };
  }

  #begin(event: Extract<AnswerEvent, { type: 'part-start' }>): readonly AnswerEvent[] {
    const tool = event.kind === 'tool-call' ? this.scope.tools.get(event.name) : undefined;
    if (tool === undefined) {
      if (event.kind === 'tool-call') this.#hasOtherCalls = true;
      const part = this.scope.nextPart();
      this.#places.set(event.part, part);
      return [{ ...event, part }];
    }
    this.#places.set(event.part, null);
    if (!this.mayCall) return [];
    const part = this.scope.nextPart();
    this.#calls.push({ number: event.part, part, tool });
    if (!this.scope.showsItems) return [];
    const { name, itemType, bound } = tool;
    return [{ type: 'part-start', part, kind: 'server-tool', tool: name, itemType, item: bound.pendingItem ?? {} }];
  }
}

function isCall(part: AnswerPart): part is Extract<AnswerPart, { type: 'tool-call' }> {
  return part.type === 'tool-call';
}

/** What the caller sees of a finished call: the end of its item; where there are no items, its record and its pictures. */
export function outcomeEvents(
  { id, arguments: args, part, tool }: RelayedCall,
  { isError, item, parts, images = [] }: ToolOutcome,
  { showsItems, nextPart }: RelayScope,
): readonly AnswerEvent[] {
  if (showsItems) {
    const told = { ...tool.bound.pendingItem, ...item };
    return [
      { type: 'tool-outcome', part, hasSucceeded: !isError, item: told },
      { type: 'part-end', part },
    ];
  }
  const { name, itemType } = tool;
  const record = { callId: id, arguments: args, result: shownResult(parts) };
  return [
    { type: 'part-start', part, kind: 'server-tool', tool: name, itemType, item: {}, record },
    { type: 'part-end', part },
    ...images.flatMap((url) => {
      const number = nextPart();
      return [
        { type: 'part-start' as const, part: number, kind: 'generated-image' as const, url },
        { type: 'part-end' as const, part: number },
      ];
    }),
  ];
}

/** The result as text. Of a long one only the beginning: callers send records back with each further request. */
function shownResult(parts: ToolOutcome['parts']): string {
  const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
  return text.length <= LONGEST_RECORD ? text : `${text.slice(0, LONGEST_RECORD).toWellFormed()}…`;
}

/** Returns the ids of the calls of tools in a conversation. */
export function callIdsOf({ messages }: CanonicalRequest): Set<string> {
  const parts = messages.flatMap((message) => message.parts);
  return new Set(parts.flatMap((part) => (part.type === 'tool-call' ? [part.id] : [])));
}
