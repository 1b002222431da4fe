import type { ServerResponse } from 'node:http';
import type { SpokenTurn } from './spoken-turn';

export function sendJson(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

/** A whole answer; of a turn that breaks off, its first bytes. */
export function sendWhole(response: ServerResponse, turn: SpokenTurn, body: object): void {
  if (turn.kind !== 'text' || turn.ending !== 'cut') return sendJson(response, 200, body);
  const bytes = JSON.stringify(body);
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': bytes.length });
  response.write(bytes.slice(0, bytes.length / 2), () => response.destroy());
}

/** One write per event. A stream that is not to end as a whole says nothing after the last piece of its turn. */
export function sendEvents(response: ServerResponse, events: readonly string[], turn: SpokenTurn): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const ending = turn.kind === 'text' ? turn.ending : 'whole';
  const told = ending === 'whole' || turn.kind !== 'text' ? events : throughPiece(events, turn.pieces.at(-1)!);
  const write = (index: number): void => {
    if (index < told.length) response.write(told[index], () => setImmediate(write, index + 1));
    else if (ending === 'whole') response.end();
    else if (ending === 'cut') response.destroy();
  };
  write(0);
}

function throughPiece(events: readonly string[], piece: string): readonly string[] {
  return events.slice(0, 1 + events.findIndex((event) => event.includes(piece)));
}

/** An event with a name, as the newer dialects send them. */
export function named(type: string, members: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
}
