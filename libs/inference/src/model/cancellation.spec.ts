import { Cancellation, toAbortSignal, type CancelSignal } from './cancellation';

describe(Cancellation.name, () => {
  it('ends everyone who listens, once', () => {
    const cancellation = new Cancellation();
    const heard: string[] = [];
    const leaver = (): void => void heard.push('leaver');
    for (const name of ['one', 'other']) cancellation.addEventListener('abort', () => heard.push(name));
    cancellation.addEventListener('abort', leaver);
    cancellation.removeEventListener('abort', leaver);
    cancellation.abort();
    cancellation.abort();
    expect(heard).toEqual(['one', 'other']);
    expect(cancellation.aborted).toBe(true);
  });

  it('tells listeners that it is over by the time they are called', () => {
    const cancellation = new Cancellation();
    let seen = false;
    cancellation.addEventListener('abort', () => (seen = cancellation.aborted && cancellation.toAbortSignal().aborted));
    cancellation.abort();
    expect(seen).toBe(true);
  });
});

describe(toAbortSignal.name, () => {
  const signals: [string, (controller: AbortController) => CancelSignal & { abort?: () => void }][] = [
    ['an AbortSignal', ({ signal }) => signal],
    ['a cancellation', () => new Cancellation()],
    [
      'any other',
      ({ signal }) => ({ aborted: false, addEventListener: signal.addEventListener.bind(signal) }) as never,
    ],
  ];

  it.each(signals)('follows %s', (_what, make) => {
    const controller = new AbortController();
    const signal = make(controller);
    const followed = toAbortSignal(signal);
    expect(followed.aborted).toBe(false);
    (signal.abort?.bind(signal) ?? (() => controller.abort()))();
    expect(followed.aborted).toBe(true);
    expect(toAbortSignal(followed)).toBe(followed);
  });

  it('knows what is over already', () => {
    const cancellation = new Cancellation();
    cancellation.abort();
    expect(toAbortSignal(cancellation).aborted).toBe(true);
  });
});
