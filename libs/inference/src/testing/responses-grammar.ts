/**
 * The grammar of a streamed response, as a judge of what a caller received.
 *
 * `[debug*] created → in_progress → items → one terminal event → [DONE]`; every item, content, summary part,
 * argument text that begins also ends, its deltas add up to what its end says, indexes count from 0, and the
 * last response holds exactly the items that were streamed. Items may overlap.
 */
type Json = Readonly<Record<string, unknown>>;

interface OpenText {
  readonly kind: string;
  text: string;
  isSaid: boolean;
  isOpen: boolean;
  annotations: number;
}

interface Item {
  readonly id: unknown;
  readonly type: unknown;
  readonly contents: OpenText[];
  readonly summaries: OpenText[];
  /** Arguments of a call or input of a custom tool. */
  readonly call: OpenText;
  isOpen: boolean;
}

const TERMINALS: Readonly<Record<string, string>> = {
  'response.completed': 'completed',
  'response.incomplete': 'incomplete',
  'response.failed': 'failed',
};

/** Events that only report progress inside an open item. */
const PROGRESS =
  /^response\.(?:web_search_call|file_search_call|code_interpreter_call|code_interpreter_call_code|image_generation_call|fusion_call|mcp_call|apply_patch_call_operation_diff)\./;

/** Returns the payloads of the events of an event stream: the text after `data:`, in order. */
export function dataOfEventStream(body: string): string[] {
  return body
    .split(/\r?\n\r?\n/)
    .map((event) =>
      event
        .split(/\r?\n/)
        .filter((line) => line.startsWith('data:'))
        .map((line) => line.slice(5).replace(/^ /, ''))
        .join('\n'),
    )
    .filter((data) => data !== '');
}

/** What is wrong with the events of a streamed response, given by their payloads; nothing where all is well. */
export function findResponsesGrammarProblems(events: readonly string[]): string[] {
  const checker = new GrammarChecker();
  events.forEach((data, index) => checker.take(data, index));
  return checker.end();
}

class GrammarChecker {
  readonly #problems: string[] = [];
  readonly #items: Item[] = [];
  #at = 0;
  #responseId: unknown;
  #lifecycle: string[] = [];
  #terminal: string | null = null;
  #isDone = false;

  take(data: string, index: number): void {
    this.#at = index;
    if (this.#isDone) return this.#blame('an event after [DONE]');
    if (data === '[DONE]') return this.#takeDone();
    const event = parseObject(data);
    if (event === null) return this.#blame('no JSON object');
    if (event['sequence_number'] !== index) this.#blame(`sequence_number is not ${index}`);
    if (this.#terminal !== null) this.#blame('an event after the terminal one');
    const { type } = event;
    if (typeof type === 'string') this.#dispatch(type, event);
    else this.#blame('an event without a type');
  }

  end(): string[] {
    this.#at = -1;
    if (!this.#isDone) this.#blame('the stream does not end with [DONE]');
    return this.#problems;
  }

  #takeDone(): void {
    this.#isDone = true;
    if (this.#terminal === null) this.#blame('[DONE] before a terminal event');
  }

  #dispatch(type: string, event: Json): void {
    if (type === 'response.debug') return this.#takeDebug(event);
    if (type === 'response.created' || type === 'response.in_progress') return this.#takeOpening(type, event);
    if (this.#lifecycle.length < 2) this.#blame(`${type} before response.created and response.in_progress`);
    if (Object.hasOwn(TERMINALS, type)) return this.#takeTerminal(type, event);
    if (type === 'response.output_item.added') return this.#addItem(event);
    const item = this.#itemOf(event, type);
    if (item === null) return;
    if (type === 'response.output_item.done') return this.#endItem(item, event);
    this.#checkItemId(item, event);
    this.#dispatchInside(type, item, event);
  }

  #dispatchInside(type: string, item: Item, event: Json): void {
    const part = /^response\.(content_part|reasoning_summary_part)\.(added|done)$/.exec(type);
    if (part) return this.#takePart(item, part[1] === 'content_part' ? 'content' : 'summary', part[2]!, event);
    const text = /^response\.(output_text|refusal|reasoning_text|reasoning_summary_text)\.(delta|done)$/.exec(type);
    if (text) return this.#takeText(item, text[1]!, text[2]!, event);
    const call = /^response\.(function_call_arguments|custom_tool_call_input)\.(delta|done)$/.exec(type);
    if (call) return this.#takeCall(item, call[1]!, call[2]!, event);
    if (type === 'response.output_text.annotation.added') return this.#takeAnnotation(item, event);
    if (!PROGRESS.test(type)) this.#blame(`${type} is no event of the grammar`);
  }

  #takeDebug(event: Json): void {
    if (this.#lifecycle.length > 0) this.#blame('response.debug after response.created');
    if (objectOf(event['debug']) === null) this.#blame('response.debug without debug');
  }

  #takeOpening(type: string, event: Json): void {
    const due = ['response.created', 'response.in_progress'][this.#lifecycle.length];
    if (type !== due) this.#blame(`${type} out of its place`);
    this.#lifecycle.push(type);
    const response = this.#responseOf(event);
    if (response === null) return;
    if (response['status'] !== 'in_progress') this.#blame(`${type} with a status other than in_progress`);
    if (!Array.isArray(response['output']) || response['output'].length > 0) this.#blame(`${type} with output`);
  }

  #responseOf(event: Json): Json | null {
    const response = objectOf(event['response']);
    if (response === null) {
      this.#blame('no response object');
      return null;
    }
    this.#responseId ??= response['id'];
    if (typeof response['id'] !== 'string') this.#blame('the response has no id');
    if (response['id'] !== this.#responseId) this.#blame('the response changes its id');
    return response;
  }

  #takeTerminal(type: string, event: Json): void {
    this.#terminal = type;
    const response = this.#responseOf(event);
    if (response === null) return;
    if (response['status'] !== TERMINALS[type]) this.#blame(`${type} with another status`);
    if (objectOf(response['usage']) === null) this.#blame('the last response has no usage');
    if (type === 'response.failed') return this.#checkFailure(response, event);
    this.#checkOutput(response);
    const reason = objectOf(response['incomplete_details'])?.['reason'];
    if (type === 'response.incomplete' && typeof reason !== 'string') this.#blame('incomplete without a reason');
  }

  #checkOutput({ output }: Json): void {
    if (this.#items.some(({ isOpen }) => isOpen)) this.#blame('an item does not end');
    const told = this.#items.map(({ id }) => id);
    const held = Array.isArray(output) ? output.map((item) => objectOf(item)?.['id']) : null;
    if (JSON.stringify(told) !== JSON.stringify(held)) this.#blame('the last response holds other items than told');
  }

  #checkFailure(response: Json, { error: beside }: Json): void {
    const error = objectOf(response['error']);
    if (typeof error?.['code'] !== 'string' || typeof error['message'] !== 'string') {
      this.#blame('failed without an error');
    }
    if (typeof response['error_type'] !== 'string') this.#blame('failed without error_type');
    if (JSON.stringify(beside) !== JSON.stringify(error)) this.#blame('failed without the error beside its response');
  }

  #addItem(event: Json): void {
    const item = objectOf(event['item']);
    if (event['output_index'] !== this.#items.length) this.#blame(`output_index is not ${this.#items.length}`);
    if (typeof item?.['id'] !== 'string') this.#blame('an item without an id');
    this.#items.push({
      id: item?.['id'],
      type: item?.['type'],
      contents: [],
      summaries: [],
      call: openText('call'),
      isOpen: true,
    });
  }

  #itemOf(event: Json, type: string): Item | null {
    const item = this.#items[Number(event['output_index'])];
    if (item?.isOpen) return item;
    this.#blame(`${type} outside an open item`);
    return null;
  }

  #checkItemId(item: Item, event: Json): void {
    if (event['item_id'] !== item.id) this.#blame('item_id is not the id of the item');
  }

  #endItem(item: Item, event: Json): void {
    item.isOpen = false;
    const told = objectOf(event['item']) ?? {};
    if (told['id'] !== item.id) this.#blame('an item ends with another id');
    if (told['status'] === 'in_progress') this.#blame('an item ends in progress');
    if ([...item.contents, ...item.summaries].some(({ isOpen }) => isOpen)) this.#blame('a part does not end');
    const isCall = item.type === 'function_call' || item.type === 'custom_tool_call';
    if (!isCall) return this.#checkContents(item, told);
    if (!item.call.isSaid) this.#blame('the arguments of a call do not end');
    if ((told['arguments'] ?? told['input']) !== item.call.text) this.#blame('a call ends with other arguments');
  }

  #checkContents(item: Item, told: Json): void {
    for (const [name, parts] of [
      ['content', item.contents],
      ['summary', item.summaries],
    ] as const) {
      const list: readonly unknown[] = Array.isArray(told[name]) ? told[name] : [];
      const texts = list.map((part) => textOfPart(objectOf(part)));
      if (JSON.stringify(texts) !== JSON.stringify(parts.map(({ text }) => text))) {
        this.#blame(`an item ends with another ${name}`);
      }
    }
  }

  #takePart(item: Item, kind: 'content' | 'summary', step: string, event: Json): void {
    const parts = kind === 'content' ? item.contents : item.summaries;
    const index = event[`${kind}_index`];
    const part = objectOf(event['part']);
    if (step === 'added') {
      if (index !== parts.length) this.#blame(`${kind}_index is not ${parts.length}`);
      if (textOfPart(part) !== '') this.#blame('a part begins with text');
      parts.push(openText(String(part?.['type'])));
      return;
    }
    const open = parts[Number(index)];
    if (!open?.isOpen) return this.#blame(`a ${kind} part ends that is not open`);
    open.isOpen = false;
    if (!open.isSaid) this.#blame('a part ends before its text');
    if (textOfPart(part) !== open.text) this.#blame('a part ends with another text');
  }

  #takeText(item: Item, kind: string, step: string, event: Json): void {
    const isSummary = kind === 'reasoning_summary_text';
    const parts = isSummary ? item.summaries : item.contents;
    const open = parts[Number(event[isSummary ? 'summary_index' : 'content_index'])];
    const due = isSummary ? 'summary_text' : kind;
    if (!open?.isOpen || open.kind !== due) return this.#blame(`${kind}.${step} outside an open part of its kind`);
    this.#say(open, step, event, kind === 'refusal' ? 'refusal' : 'text');
  }

  #takeCall(item: Item, kind: string, step: string, event: Json): void {
    const isFunction = kind === 'function_call_arguments';
    if (item.type !== (isFunction ? 'function_call' : 'custom_tool_call')) {
      return this.#blame(`${kind}.${step} in another item`);
    }
    this.#say(item.call, step, event, isFunction ? 'arguments' : 'input');
  }

  #say(open: OpenText, step: string, event: Json, member: string): void {
    if (open.isSaid) this.#blame('more text after the end of it');
    if (step === 'delta') {
      if (typeof event['delta'] !== 'string') this.#blame('a delta without text');
      open.text += String(event['delta']);
      return;
    }
    open.isSaid = true;
    if (event[member] !== open.text) this.#blame('the deltas do not add up');
  }

  #takeAnnotation(item: Item, event: Json): void {
    const open = item.contents[Number(event['content_index'])];
    if (!open?.isOpen || open.kind !== 'output_text') return this.#blame('an annotation outside a text');
    if (event['annotation_index'] !== open.annotations) this.#blame(`annotation_index is not ${open.annotations}`);
    open.annotations += 1;
  }

  #blame(what: string): void {
    this.#problems.push(this.#at === -1 ? what : `event ${this.#at}: ${what}`);
  }
}

function openText(kind: string): OpenText {
  return { kind, text: '', isSaid: false, isOpen: true, annotations: 0 };
}

function textOfPart(part: Json | null): unknown {
  return part?.['text'] ?? part?.['refusal'];
}

function objectOf(value: unknown): Json | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : null;
}

function parseObject(data: string): Json | null {
  try {
    return objectOf(JSON.parse(data));
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return null;
    throw thrown;
  }
}
