/** Numbers the events of one stream from 0 and makes server-sent events of them. */
export class EventSink {
  #next = 0;
  #output: Buffer[] = [];

  emit(type: string, members: object): void {
    const event = { type, sequence_number: this.#next, ...members };
    this.#next += 1;
    this.#output.push(Buffer.from(`data: ${JSON.stringify(event)}\n\n`));
  }

  /** What was emitted since the last call. */
  take(): Buffer[] {
    const output = this.#output;
    this.#output = [];
    return output;
  }
}
