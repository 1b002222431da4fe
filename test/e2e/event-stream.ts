/** A streamed answer as a caller reads it. */
export interface OpenedStream {
  readonly status: number;
  readonly headers: Headers;
  /** Waits for the next piece; null when the stream is over. */
  next(): Promise<string | null>;
  /** Waits until these words have been received. @throws Error when the stream ends before */
  until(words: string): Promise<void>;
  /** All that was and will be received. */
  rest(): Promise<string>;
  /** Leaves in the middle. */
  leave(): void;
}

export async function openStream(baseUrl: string, path: string, apiKey: string, body: object): Promise<OpenedStream> {
  const leaving = new AbortController();
  const response = await fetch(baseUrl + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: leaving.signal,
  });
  const reader = response.body!.getReader();
  const decoder = new TextDecoder();
  let received = '';
  const next = async (): Promise<string | null> => {
    const { done, value } = await reader.read();
    if (done) return null;
    const text = decoder.decode(value, { stream: true });
    received += text;
    return text;
  };
  const until = async (words: string): Promise<void> => {
    while (!received.includes(words)) {
      if ((await next()) === null) throw new Error(`the stream ended before "${words}": ${received}`);
    }
  };
  const rest = async (): Promise<string> => {
    while ((await next()) !== null);
    return received;
  };
  return { status: response.status, headers: response.headers, next, until, rest, leave: () => leaving.abort() };
}

/** The data of each event, comments left out. */
export function eventsOf(text: string): string[] {
  return text
    .split('\n\n')
    .filter((event) => event.startsWith('data: '))
    .map((event) => event.slice('data: '.length));
}
