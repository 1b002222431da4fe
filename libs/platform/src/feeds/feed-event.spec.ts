import { readFeedEvent } from './feed-event';

const position = { revision: 2, mark: 'b' };
const since = { revision: 1, mark: 'a' };

describe(readFeedEvent, () => {
  it('reads what an owner publishes', () => {
    expect(readFeedEvent({ since, position, subjects: ['x'] })).toEqual({ since, position, subjects: ['x'] });
    expect(readFeedEvent({ since: null, position, subjects: [] })).toEqual({ since: null, position, subjects: [] });
  });

  it.each([
    null,
    'text',
    {},
    { since, position },
    { since, position, subjects: [1] },
    { since, position: { revision: 1.5, mark: 'a' }, subjects: [] },
    { since: 7, position, subjects: [] },
    { since, position, subjects: Array.from({ length: 1_001 }, String) },
  ])('refuses %j', (event) => {
    expect(() => readFeedEvent(event)).toThrow('Unreadable event');
  });
});
