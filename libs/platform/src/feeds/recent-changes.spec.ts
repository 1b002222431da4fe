import { RecentChanges } from './recent-changes';

describe(RecentChanges.name, () => {
  it('knows the last change of each subject', () => {
    const changes = new RecentChanges();
    changes.add(['a']);
    changes.add(['b']);
    expect(changes.areUnchangedSince(1, ['a'])).toBe(true);
    expect(changes.areUnchangedSince(1, ['a', 'b'])).toBe(false);
    changes.add(['a']);
    expect(changes.areUnchangedSince(2, ['a'])).toBe(false);
  });

  it('is bounded, and takes for changed what it can no longer know', () => {
    const changes = new RecentChanges();
    for (let number = 0; number < 10_005; number += 1) changes.add([`subject-${number}`]);
    expect(changes.areUnchangedSince(0, ['never seen'])).toBe(false);
    expect(changes.areUnchangedSince(changes.count - 1, ['never seen'])).toBe(true);
    expect(changes.areUnchangedSince(changes.count - 1, ['subject-10004'])).toBe(false);
  });
});
