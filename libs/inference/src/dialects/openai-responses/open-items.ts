import {
  calledTool,
  customCallItem,
  functionCallItem,
  imageItem,
  itemId,
  type CalledTool,
  type ItemStatus,
} from './answer-items';
import { textOfArguments } from '../free-text-tools';
import type { EventSink } from './stream-events';
import type { ItemPlace, OpenItem, PartEvent, PartStart } from './open-item';
import { OpenMessage } from './open-message';
import { OpenServerTool } from './open-server-tool';
import { OpenThoughts } from './open-thoughts';

export function openItem(event: PartStart, sink: EventSink, place: ItemPlace): OpenItem {
  switch (event.kind) {
    case 'text':
    case 'refusal':
      return new OpenMessage(sink, place);
    case 'reasoning':
      return new OpenThoughts(sink, place);
    case 'generated-image':
      return new OpenImage(event.url, sink, place);
    case 'server-tool':
      return new OpenServerTool(event, sink, place);
    case 'tool-call':
      return openCall(calledTool(event, place.toolNames), sink, place);
  }
}

function openCall(called: CalledTool, sink: EventSink, place: ItemPlace): OpenItem {
  return called.isCustom ? new OpenCustomCall(called, sink, place) : new OpenFunctionCall(called, sink, place);
}

class OpenFunctionCall implements OpenItem {
  isIdle = false;
  written: object = {};
  readonly #id: string;
  #arguments = '';
  #hasEnded = false;

  constructor(
    private readonly called: CalledTool,
    private readonly sink: EventSink,
    private readonly place: ItemPlace,
  ) {
    this.#id = itemId('fc', place.responseId, place.outputIndex);
  }

  takes(): boolean {
    return false;
  }

  begin(): void {
    const { outputIndex } = this.place;
    this.sink.emit('response.output_item.added', { output_index: outputIndex, item: this.#item('in_progress') });
  }

  take(event: PartEvent): void {
    if (event.type === 'tool-arguments-delta') {
      this.#arguments += event.arguments;
      this.sink.emit('response.function_call_arguments.delta', { ...this.#where(), delta: event.arguments });
    } else if (event.type === 'part-end') {
      this.#closeArguments();
    }
  }

  end(status: ItemStatus, hasFailed = false): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.written = this.#item(status);
    if (hasFailed) return;
    this.#closeArguments();
    this.sink.emit('response.output_item.done', { output_index: this.place.outputIndex, item: this.written });
  }

  #closeArguments(): void {
    if (this.isIdle) return;
    this.isIdle = true;
    const { name } = this.called;
    this.sink.emit('response.function_call_arguments.done', { ...this.#where(), name, arguments: this.#arguments });
  }

  #where(): object {
    return { item_id: this.#id, output_index: this.place.outputIndex };
  }

  #item(status: ItemStatus): object {
    return functionCallItem(this.#id, this.called, this.#arguments, status);
  }
}

/** A custom tool call. Its input is sent when it is complete, because its pieces arrive inside JSON. */
class OpenCustomCall implements OpenItem {
  isIdle = false;
  written: object = {};
  readonly #id: string;
  #arguments = '';
  #hasEnded = false;

  constructor(
    private readonly called: CalledTool,
    private readonly sink: EventSink,
    private readonly place: ItemPlace,
  ) {
    this.#id = itemId('ctc', place.responseId, place.outputIndex);
  }

  takes(): boolean {
    return false;
  }

  begin(): void {
    const item = customCallItem(this.#id, this.called, '', 'in_progress');
    this.sink.emit('response.output_item.added', { output_index: this.place.outputIndex, item });
  }

  take(event: PartEvent): void {
    if (event.type === 'tool-arguments-delta') this.#arguments += event.arguments;
    else if (event.type === 'part-end') this.#closeInput();
  }

  end(status: ItemStatus, hasFailed = false): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    const args = hasFailed && !this.isIdle ? '' : this.#arguments;
    this.written = customCallItem(this.#id, this.called, args, status);
    if (hasFailed) return;
    this.#closeInput();
    this.sink.emit('response.output_item.done', { output_index: this.place.outputIndex, item: this.written });
  }

  #closeInput(): void {
    if (this.isIdle) return;
    this.isIdle = true;
    const where = { item_id: this.#id, output_index: this.place.outputIndex };
    const input = textOfArguments(this.#arguments);
    if (input !== '') this.sink.emit('response.custom_tool_call_input.delta', { ...where, delta: input });
    this.sink.emit('response.custom_tool_call_input.done', { ...where, input });
  }
}

class OpenImage implements OpenItem {
  readonly isIdle = true;
  readonly written: object;
  readonly #id: string;
  #hasEnded = false;

  constructor(
    url: string,
    private readonly sink: EventSink,
    private readonly place: ItemPlace,
  ) {
    this.#id = itemId('ig', place.responseId, place.outputIndex);
    this.written = imageItem(this.#id, url);
  }

  takes(): boolean {
    return false;
  }

  begin(): void {
    const { outputIndex } = this.place;
    const item = { ...this.written, status: 'in_progress', result: null };
    this.sink.emit('response.output_item.added', { output_index: outputIndex, item });
    const where = { item_id: this.#id, output_index: outputIndex };
    this.sink.emit('response.image_generation_call.in_progress', where);
    this.sink.emit('response.image_generation_call.completed', where);
  }

  take(): void {
    // The picture came whole with its beginning.
  }

  end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.sink.emit('response.output_item.done', { output_index: this.place.outputIndex, item: this.written });
  }
}
