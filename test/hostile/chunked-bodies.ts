import { connect, type Socket } from 'node:net';

export interface ChunkedBody {
  /** Of the gateway, with the path of its API. */
  readonly baseUrl: string;
  readonly path: string;
  readonly headers: readonly string[];
  readonly start: string;
  /** How many bytes to send after the start; the body never ends. */
  readonly bytes: number;
  /** Of each chunk. */
  readonly chunkBytes: number;
}

function sendChunks({ baseUrl, path, headers, start, bytes, chunkBytes }: ChunkedBody): Socket {
  const { hostname, port, pathname } = new URL(baseUrl);
  const socket = connect(Number(port), hostname);
  const head = [`POST ${pathname}${path} HTTP/1.1`, 'Host: gateway', 'Transfer-Encoding: chunked', ...headers];
  const chunks = Buffer.from(`${chunkBytes}\r\n${'x'.repeat(chunkBytes)}\r\n`.repeat(16_384));
  let sent = 0;
  const send = (): void => {
    while (socket.writable && sent < bytes) {
      sent += 16_384 * chunkBytes;
      if (!socket.write(chunks)) return;
    }
  };
  socket.on('error', () => undefined).on('data', () => undefined);
  socket.on('drain', send).on('connect', () => {
    socket.write(`${head.join('\r\n')}\r\n\r\n${start.length.toString(16)}\r\n${start}\r\n`);
    send();
  });
  return socket;
}

/** So many connections, each opened again when it is closed. Returns what ends them. */
export function keepSending(connections: number, body: ChunkedBody): () => void {
  const sockets = new Set<Socket>();
  let isOver = false;
  const open = (): void => {
    const socket = sendChunks(body);
    sockets.add(socket);
    socket.on('close', () => {
      sockets.delete(socket);
      if (!isOver) open();
    });
  };
  for (let nth = 0; nth < connections; nth += 1) open();
  return () => {
    isOver = true;
    for (const socket of sockets) socket.destroy();
  };
}
