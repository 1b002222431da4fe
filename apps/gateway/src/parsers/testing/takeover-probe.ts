/** A parser that was taken over. It imports nothing and loads nothing: all that it uses is there after `seal()`. */
export interface TakeoverSettings {
  /** Of the process that shall run `expression`. */
  readonly pid: number;
  readonly expression: string;
  /** Port to which it also opens a plain connection. */
  readonly gatewayPort: number;
}

interface RawSocket {
  connect(port: number, host: string): void;
  write(data: Uint8Array | string): void;
  on(event: 'data', listener: (data: Uint8Array) => void): void;
  on(event: 'connect' | 'close', listener: () => void): void;
  on(event: 'error', listener: (error: Error) => void): void;
  destroy(): void;
}

/** The class of the standard input is `net.Socket`. No module is loaded for it. */
const newSocket = (): RawSocket => Reflect.construct(process.stdin.constructor, []) as unknown as RawSocket;

const pause = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms));

function exchange(
  port: number,
  start: Uint8Array | string,
  isWhole: (all: Uint8Array) => boolean,
  next?: Uint8Array,
): Promise<Uint8Array> {
  let isUpgraded = false;
  return new Promise((resolve, reject) => {
    const socket = newSocket();
    let all = new Uint8Array(0);
    socket.on('error', reject);
    socket.on('connect', () => socket.write(start));
    socket.on('data', (data) => {
      const joined = new Uint8Array(all.length + data.length);
      joined.set(all);
      joined.set(data, all.length);
      all = joined;
      if (next !== undefined && !isUpgraded && textOf(all).includes('\r\n\r\n')) {
        isUpgraded = true;
        socket.write(next);
      }
      if (isWhole(all)) {
        resolve(all);
        socket.destroy();
      }
    });
    socket.on('close', () => resolve(all));
    socket.connect(port, '127.0.0.1');
  });
}

const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

function maskedFrame(text: string): Uint8Array {
  const data = new TextEncoder().encode(text);
  const frame = new Uint8Array(8 + data.length);
  frame.set([0x81, 0x80 | 126, data.length >> 8, data.length & 0xff, 0, 0, 0, 0]);
  frame.set(data, 8);
  return frame;
}

/** Opens the debugger of another process by a signal, and has it run an expression. Returns what that gave. */
export async function parse(
  _payload: Uint8Array,
  { pid, expression, gatewayPort }: TakeoverSettings,
): Promise<unknown> {
  const live = 'GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n';
  const connected = textOf(await exchange(gatewayPort, live, (all) => all.length > 12)).slice(0, 15);
  process.kill(pid, 'SIGUSR1');
  let list = '';
  for (let attempt = 0; attempt < 50 && !list.includes('webSocketDebuggerUrl'); attempt += 1) {
    await pause(100);
    const request = 'GET /json/list HTTP/1.1\r\nHost: 127.0.0.1:9229\r\n\r\n';
    list = await exchange(9229, request, (all) => textOf(all).includes('webSocketDebuggerUrl')).then(textOf, String);
  }
  const path = /ws:\/\/127\.0\.0\.1:9229(\/[\w-]+)/.exec(list)?.[1];
  if (path === undefined) return { connected, failed: list };
  const upgrade = [
    `GET ${path} HTTP/1.1`,
    'Host: 127.0.0.1:9229',
    'Upgrade: websocket',
    'Connection: Upgrade',
    'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
    'Sec-WebSocket-Version: 13',
  ].join('\r\n');
  const message = {
    id: 1,
    method: 'Runtime.evaluate',
    params: { expression, returnByValue: true, awaitPromise: true },
  };
  const isAnswered = (all: Uint8Array): boolean => textOf(all).includes('{"id":1') && textOf(all).endsWith('}}}');
  const answer = textOf(await exchange(9229, `${upgrade}\r\n\r\n`, isAnswered, maskedFrame(JSON.stringify(message))));
  return { connected, answer: answer.slice(answer.indexOf('{"id":1')) };
}
