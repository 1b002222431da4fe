import { turnBody, type CanonicalRequest, type Message } from '@libs/inference';
import type { ToolOutcome } from './server-tool';
import type { TurnRelay } from './turn-relay';

/** The conversation of one request, which grows with each turn. */
export class LoopConversation {
  #current: CanonicalRequest;
  #grownBytes = 0;

  constructor(begun: CanonicalRequest) {
    this.#current = { ...begun, isContinued: true };
  }

  get current(): CanonicalRequest {
    return this.#current;
  }

  /** Bytes that were added to the request, as JSON. */
  get grownBytes(): number {
    return this.#grownBytes;
  }

  /** Adds the model's output and the tool results. Removes a forced tool choice, because it was fulfilled. */
  grow(relay: TurnRelay, results: ReadonlyMap<string, ToolOutcome>): void {
    const { messages, tools, toolChoice } = this.#current;
    const found = [...results.values()].flatMap((outcome) => outcome.tools ?? []);
    const known = new Set(tools.map(({ name }) => name));
    const added = {
      messages: [relay.toMessage(), ...relay.calls.map(({ id }) => resultMessage(id, results.get(id)!))],
      tools: found.filter(({ name }) => !known.has(name) && known.add(name)),
    };
    this.#grownBytes += turnBody(added).length;
    this.#current = {
      ...this.#current,
      messages: [...messages, ...added.messages],
      tools: [...tools, ...added.tools],
      ...(toolChoice !== undefined && { toolChoice: { type: 'auto' as const } }),
    };
  }

  /** Makes the next turn the last, which may call no tools. */
  endTools(): void {
    this.#current = { ...this.#current, toolChoice: { type: 'none' } };
  }
}

function resultMessage(callId: string, { parts, isError }: ToolOutcome): Message {
  return { role: 'tool', parts: [{ type: 'tool-result', callId, parts, ...(isError && { isError }) }] };
}
