import type { Message, Part, ToolResultPart } from '../../model/conversation';
import type { LossLog } from '../../model/loss-report';
import type { Endpoint } from '../../catalogue/catalogue';
import type { WirePart } from './media';
import { generationOf, THIRD_GENERATION } from './traits';
import { PartWriter } from './content-writer';
import { NO_PROOF, signaturesIn } from './reasoning';

export interface Content {
  readonly role: 'user' | 'model';
  readonly parts: readonly WirePart[];
}

export interface Conversation {
  /** Instructions, apart from the turns. */
  readonly system: readonly WirePart[];
  readonly contents: readonly Content[];
}

/** Put before a conversation that begins with the model: the first turn must be the user's. */
const OPENING: Content = { role: 'user', parts: [{ text: '.' }] };

/** Function name for results whose call is not in the conversation. */
const UNKNOWN_FUNCTION = 'unknown_function';

/**
 * Returns a conversation in the upstream's form: instructions apart; all output of the model between two turns of
 * the user as one turn; tool results right after it, in the order of the calls.
 */
export function writeConversation(messages: readonly Message[], endpoint: Endpoint, log: LossLog): Conversation {
  const writer = new ContentsWriter(endpoint, log);
  for (const message of messages) writer.add(message);
  return beginning(writer.end(), log);
}

interface CalledFunction {
  readonly name: string;
  /** Increases with each call, so that results can be sorted into the order of their calls. */
  readonly place: number;
}

class ContentsWriter {
  readonly #parts: PartWriter;
  readonly #isThird: boolean;
  readonly #system: WirePart[] = [];
  readonly #contents: Content[] = [];
  #said: Part[] = [];
  #results: ToolResultPart[] = [];
  #shown: WirePart[] = [];
  /** Called functions by the id of the call. */
  readonly #functions = new Map<string, CalledFunction>();
  #calls = 0;

  constructor(
    endpoint: Endpoint,
    private readonly log: LossLog,
  ) {
    this.#parts = new PartWriter(endpoint, log);
    this.#isThird = generationOf(endpoint) >= THIRD_GENERATION;
  }

  add({ role, parts, name }: Message): void {
    // The `name` of a tool message is only the name of its function.
    if (name !== undefined && role !== 'tool') this.log.drop('name');
    if (role === 'system' || role === 'developer') this.#addSystem(parts);
    else if (role === 'assistant') this.#addModel(parts);
    else this.#addUser(parts, name);
  }

  end(): Conversation {
    this.#endModel();
    this.#endUser();
    return { system: this.#system, contents: this.#contents };
  }

  #addSystem(parts: readonly Part[]): void {
    const hasBegun = this.#contents.length + this.#said.length + this.#shown.length + this.#results.length > 0;
    if (hasBegun) this.log.approximate('messages.role');
    for (const part of parts) {
      if (part.type !== 'text') this.log.drop(`messages.${part.type}`);
      else this.#system.push(...this.#spoken(part));
    }
  }

  #addModel(parts: readonly Part[]): void {
    this.#endUser();
    this.#said.push(...parts);
  }

  #addUser(parts: readonly Part[], name: string | undefined): void {
    this.#endModel();
    for (const part of parts) {
      if (part.type === 'tool-result') {
        this.#results.push(part);
        if (name !== undefined && !this.#functions.has(part.callId)) this.#noteFunction(part.callId, name);
      } else this.#shown.push(...this.#spoken(part));
    }
  }

  #endModel(): void {
    const said = this.#said;
    this.#said = [];
    const signatures = signaturesIn(said);
    const calls = said.filter((part) => part.type === 'tool-call');
    for (const { id, name } of calls) this.#noteFunction(id, name);
    const parts = said.flatMap((part): WirePart[] => {
      const written = this.#modelPart(part);
      const isUnproven = this.#isThird && part === calls[0];
      const proof = signatures.get(part) ?? (isUnproven ? NO_PROOF : undefined);
      if (proof !== undefined) return [{ ...(written ?? { text: '' }), thoughtSignature: proof }];
      return written === null ? [] : [written];
    });
    if (parts.length > 0) this.#contents.push({ role: 'model', parts });
  }

  #modelPart(part: Part): WirePart | null {
    if (part.type === 'reasoning') return this.#parts.thought(part);
    if (part.type === 'tool-call') return this.#parts.call(part);
    return this.#spoken(part)[0] ?? null;
  }

  #endUser(): void {
    const placeOf = ({ callId }: ToolResultPart): number => this.#functions.get(callId)?.place ?? 0;
    const results = this.#results.toSorted((a, b) => placeOf(a) - placeOf(b));
    const answers = results.flatMap((result) => this.#parts.result(result, this.#functionOf(result)));
    const shown = this.#shown;
    this.#results = [];
    this.#shown = [];
    if (answers.length > 0) this.#contents.push({ role: 'user', parts: answers });
    if (shown.length > 0) this.#contents.push({ role: 'user', parts: shown });
  }

  #noteFunction(callId: string, name: string): void {
    this.#calls += 1;
    this.#functions.set(callId, { name, place: this.#calls });
  }

  #functionOf({ callId }: ToolResultPart): string {
    const known = this.#functions.get(callId)?.name;
    if (known === undefined) this.log.approximate('tool_call_id');
    return known ?? UNKNOWN_FUNCTION;
  }

  #spoken(part: Part): readonly WirePart[] {
    if (part.type === 'reasoning' || part.type === 'tool-call' || part.type === 'tool-result') {
      this.log.drop(`messages.${part.type}`);
      return [];
    }
    const written = this.#parts.spoken(part);
    return written === null ? [] : [written];
  }
}

function beginning({ system, contents }: Conversation, log: LossLog): Conversation {
  if (contents.length === 0 && system.length > 0) {
    log.approximate('messages.role');
    return { system: [], contents: [{ role: 'user', parts: system }] };
  }
  if (contents[0]?.role !== 'model') return { system, contents };
  log.approximate('messages');
  return { system, contents: [OPENING, ...contents] };
}
