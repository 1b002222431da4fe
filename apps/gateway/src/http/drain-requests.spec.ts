import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { drainRequests } from './drain-requests';
import { InFlight, RequestLife } from './in-flight';

describe(drainRequests.name, () => {
  it('waits for the requests under way, and not for a connection on which nothing was asked', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const silent = connect((server.address() as AddressInfo).port, '127.0.0.1');
    await once(server, 'connection');
    const inFlight = new InFlight();
    const life = new RequestLife();
    inFlight.enter(life);
    let isDrained = false;
    const drained = drainRequests(server, inFlight, new AbortController().signal).then(() => (isDrained = true));
    await new Promise(setImmediate);
    expect(isDrained).toBe(false);
    inFlight.leave(life);
    await Promise.all([drained, once(server, 'close'), once(silent, 'close')]);
  });
});
