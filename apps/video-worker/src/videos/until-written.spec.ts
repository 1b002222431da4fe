import { AppError } from '@libs/errors';
import { Cancellation } from '@libs/inference';
import { untilWritten } from './until-written';

const away = new AppError('unavailable', 'The service is temporarily unavailable');

describe(untilWritten.name, () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  it('tries again until it is answered, at most five seconds later, and says so once', async () => {
    const triedAtMs: number[] = [];
    const told: unknown[] = [];
    const began = Date.now();
    const write = async (): Promise<string> => {
      triedAtMs.push(Date.now() - began);
      if (triedAtMs.length < 9) throw away;
      return 'written';
    };
    const written = untilWritten(write, new Cancellation(), (error) => told.push(error));
    await jest.runAllTimersAsync();
    expect(await written).toBe('written');
    expect(triedAtMs).toEqual([0, 250, 750, 1_750, 3_750, 7_750, 12_750, 17_750, 22_750]);
    expect(told).toEqual([away]);
  });

  it('tries once more at the stop, without waiting for it', async () => {
    const signal = new Cancellation();
    let tries = 0;
    const write = async (): Promise<void> => {
      tries += 1;
      throw away;
    };
    const written = untilWritten(write, signal, () => undefined).catch((error: unknown) => error);
    await jest.advanceTimersByTimeAsync(100);
    expect(tries).toBe(1);
    signal.abort();
    expect(await written).toBe(away);
    expect(tries).toBe(2);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('tries again when the stop came while it failed', async () => {
    const signal = new Cancellation();
    let tries = 0;
    const write = async (): Promise<string> => {
      tries += 1;
      if (tries > 1) return 'written';
      signal.abort();
      throw away;
    };
    expect(await untilWritten(write, signal, () => undefined)).toBe('written');
  });

  it.each([
    ['that PostgreSQL refuses', Object.assign(new Error('too long'), { code: '22001' })],
    ['that is no trouble of PostgreSQL', new TypeError('a mistake')],
  ])('gives up what fails for a reason %s', async (_case, error) => {
    let tries = 0;
    const write = async (): Promise<void> => {
      tries += 1;
      throw error;
    };
    await expect(untilWritten(write, new Cancellation(), () => undefined)).rejects.toBe(error);
    expect(tries).toBe(1);
  });
});
