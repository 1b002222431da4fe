import { withPath } from './find-services';
import { withoutPassword } from './service-kinds';

describe(withoutPassword.name, () => {
  it.each([
    ['postgres://postgres:p%40ss@127.0.0.1:5432/postgres', 'postgres://postgres:***@127.0.0.1:5432/postgres'],
    ['redis://:secret@127.0.0.1:6379', 'redis://:***@127.0.0.1:6379'],
    ['postgres://postgres@127.0.0.1:5432/postgres', 'postgres://postgres@127.0.0.1:5432/postgres'],
    ['redis://127.0.0.1:6379', 'redis://127.0.0.1:6379'],
    ['hunter2', '(not a URL)'],
  ])('prints %s as %s', (url, printed) => {
    expect(withoutPassword(url)).toBe(printed);
  });

  it('hides a password that holds an unescaped @', () => {
    expect(withoutPassword('postgres://u:a@b@host/db')).not.toContain('a@b');
  });
});

describe(withPath.name, () => {
  it('names another database of the same server, with login and options kept', () => {
    expect(withPath('postgres://u:p@127.0.0.1:5432/postgres?sslmode=disable', '/sluice')).toBe(
      'postgres://u:p@127.0.0.1:5432/sluice?sslmode=disable',
    );
  });
});
