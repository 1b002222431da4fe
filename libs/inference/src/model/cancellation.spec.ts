import { Cancellation, toAbortSignal, type CancelSignal } from './cancellation';
import { LeftoverReads } from './leftover-reads';

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

  it('leaves as it aborts where nothing may go on', () => {
    const cancellation = new Cancellation();
    cancellation.leave();
    expect([cancellation.aborted, cancellation.leaveTerms]).toEqual([true, null]);
  });

  it('tells those who go on after its caller has left when everything must end', () => {
    const cancellation = new Cancellation(new LeftoverReads().termsFor('acme'));
    const heard: string[] = [];
    const goOn = (): void => {
      heard.push(cancellation.leaveTerms === null ? 'ends' : 'goes on');
      cancellation.addEventListener('abort', goOn);
    };
    cancellation.addEventListener('abort', goOn);
    cancellation.leave();
    cancellation.leave();
    expect([heard, cancellation.aborted]).toEqual([['goes on'], true]);
    cancellation.abort();
    cancellation.abort();
    cancellation.leave();
    expect(heard).toEqual(['goes on', 'ends']);
  });

  it.each(['before', 'after'])('follows another that ends %s it begins to', (when) => {
    const source = new Cancellation(new LeftoverReads().termsFor('acme'));
    if (when === 'before') source.leave();
    const follower = Cancellation.following(source);
    source.leave();
    expect([follower.aborted, follower.leaveTerms !== null]).toEqual([true, true]);
    source.abort();
    expect(follower.leaveTerms).toBeNull();
  });

  it('follows an AbortSignal to its abort', () => {
    const controller = new AbortController();
    const follower = Cancellation.following(controller.signal);
    controller.abort();
    expect([follower.aborted, follower.leaveTerms]).toEqual([true, null]);
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
