import type { Readable, Writable } from 'node:stream';

type Members = Readonly<Record<string, unknown>>;

interface Message {
  readonly id?: number;
  readonly sessionId?: string;
  readonly method?: string;
  readonly params?: Members;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

type Listener = (method: string, params: Members) => void;

/** One page of a browser, as the Chrome DevTools Protocol has it. */
export interface DevtoolsSession {
  /** @throws Error with what the browser says against it, or that it has ended */
  ask<T = Members>(method: string, params?: Members): Promise<T>;
  onEvent(listener: Listener): void;
}

/** The Chrome DevTools Protocol over a pair of pipes: JSON messages, each ended by a zero byte. */
export class DevtoolsConnection {
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  readonly #listeners = new Map<string, Listener>();
  #lastId = 0;
  #rest = '';
  #ended: Error | null = null;

  constructor(
    private readonly input: Writable,
    output: Readable,
  ) {
    // A browser that ends breaks both pipes; whoever waits is told by `end`.
    for (const pipe of [input, output]) pipe.on('error', () => undefined);
    output.setEncoding('utf8').on('data', (text: string) => this.#read(text));
  }

  async ask<T = Members>(method: string, params: Members = {}, sessionId?: string): Promise<T> {
    if (this.#ended !== null) throw this.#ended;
    this.#lastId += 1;
    const answer = Promise.withResolvers<unknown>();
    this.#waiting.set(this.#lastId, answer);
    this.input.write(`${JSON.stringify({ id: this.#lastId, method, params, sessionId })}\0`);
    return (await answer.promise) as T;
  }

  session(sessionId: string): DevtoolsSession {
    return {
      ask: (method, params) => this.ask(method, params, sessionId),
      onEvent: (listener) => void this.#listeners.set(sessionId, listener),
    };
  }

  /** No answers come any more. */
  end(why: Error): void {
    this.#ended ??= why;
    for (const { reject } of this.#waiting.values()) reject(this.#ended);
    this.#waiting.clear();
  }

  #read(text: string): void {
    const messages = (this.#rest + text).split('\0');
    this.#rest = messages.pop() ?? '';
    for (const message of messages) this.#take(JSON.parse(message) as Message);
  }

  #take({ id, sessionId, method, params = {}, result, error }: Message): void {
    if (id === undefined) {
      if (sessionId !== undefined && method !== undefined) this.#listeners.get(sessionId)?.(method, params);
      return;
    }
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error === undefined) waiting?.resolve(result);
    else waiting?.reject(new Error(`the browser says: ${error.message}`));
  }
}
