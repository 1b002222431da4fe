import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { EdgePools } from './edge-pools';
import { InFlight, RequestLife } from './in-flight';
import { UnreadAnswers, type UnreadTimes } from './unread-answers';
import { endWith } from './whole-answer';

const MEBIBYTE = 1024 * 1024;
const ANSWER = Buffer.alloc(24 * MEBIBYTE, 'x');
const NEVER_MS = 600_000;

const stops: (() => void)[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});

async function serve(times: Partial<UnreadTimes>, memoryBytes = 1024 * MEBIBYTE, leastBytes = 1) {
  const inFlight = new InFlight(new EdgePools({ memoryBytes }));
  const unread = new UnreadAnswers(inFlight, { idleMs: NEVER_MS, overdrawnIdleMs: NEVER_MS, lookMs: 10, ...times });
  const server = createServer((request, response) => {
    const life = new RequestLife([], inFlight.pools, response);
    response.on('close', () => inFlight.leave(life));
    life.leastBytes = leastBytes;
    inFlight.enter(life);
    const holder = String(request.headers['x-holder']);
    life.claim.work({ isPublic: false, holders: [holder, holder] });
    life.claim.keep(ANSWER.length);
    endWith(response, ANSWER);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  stops.push(() => {
    unread.stop();
    server.close();
    server.closeAllConnections();
  });
  const ask = async (holder: string): Promise<Socket> => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').pause();
    stops.push(() => socket.destroy());
    socket.write(`GET / HTTP/1.1\r\nHost: gateway\r\nX-Holder: ${holder}\r\n\r\n`);
    await once(server, 'request');
    return socket;
  };
  return { inFlight, ask };
}

const eventually = async (isSo: () => boolean): Promise<void> => {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 5));
};

async function countBytes(socket: Socket, pauseMs: number): Promise<number> {
  let bytes = 0;
  socket.on('error', () => undefined);
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    socket.pause();
    setTimeout(() => socket.resume(), pauseMs);
  });
  socket.resume();
  await new Promise<void>((resolve) => {
    socket.once('close', resolve);
    socket.on('data', () => bytes > ANSWER.length && resolve());
  });
  return bytes;
}

describe(UnreadAnswers.name, () => {
  it('closes the connection of a caller that takes nothing of its answer, and frees place and memory', async () => {
    const { inFlight, ask } = await serve({ idleMs: 100 });
    const socket = await ask('sleeper');
    expect([inFlight.pools.working.taken, inFlight.pools.memory.reserved]).toEqual([1, ANSWER.length]);
    await eventually(() => inFlight.size === 0);
    expect([inFlight.pools.working.taken, inFlight.pools.memory.reserved]).toEqual([0, 0]);
    expect(await countBytes(socket, 0)).toBeLessThan(ANSWER.length);
  });

  it('closes the connection of a caller that takes less than it must', async () => {
    const { inFlight, ask } = await serve({ idleMs: 400 }, undefined, 16 * MEBIBYTE);
    const read = await countBytes(await ask('slow'), 20);
    expect(read).toBeLessThan(ANSWER.length);
    expect(inFlight.size).toBe(0);
  });

  it('leaves a caller alone that reads slowly, however long its answer takes', async () => {
    const { ask } = await serve({ idleMs: 5_000 });
    expect(await countBytes(await ask('slow'), 4)).toBeGreaterThan(ANSWER.length);
  });

  it('makes room at the cost of the workspace that holds most when unread answers overdraw the budget', async () => {
    const { inFlight, ask } = await serve({ overdrawnIdleMs: 50 }, 60 * MEBIBYTE);
    const { memory } = inFlight.pools;
    const modest = await ask('modest');
    for (let nth = 0; nth < 4; nth += 1) await ask('greedy');
    await eventually(() => !memory.isOverdrawn);
    expect(memory.heldBy(['modest'])).toBe(ANSWER.length);
    expect(memory.heldBy(['greedy'])).toBe(ANSWER.length);
    expect(await countBytes(modest, 0)).toBeGreaterThan(ANSWER.length);
  });

  it('lets answers beyond the share of a workspace wait while the budget has room', async () => {
    const { inFlight, ask } = await serve({ overdrawnIdleMs: 10 }, 100 * MEBIBYTE);
    for (let nth = 0; nth < 4; nth += 1) await ask('alone');
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(inFlight.size).toBe(4);
  });
});
