import { allDocuments, fencesOf, inlineCodeOf } from './markdown';

/** Every line that a document shows as a command. */
const commands = allDocuments().flatMap((document) => {
  const shown = fencesOf(document).filter(({ language }) => ['', 'sh'].includes(language));
  const lines = [...shown.flatMap(({ text }) => text.split('\n')), ...inlineCodeOf(document)];
  return lines.map((line) => `${document.path}: ${line.trim()}`);
});

describe('the commands of the documents', () => {
  it('keep the words of npm out of files and pipes', () => {
    const taken = commands.filter((line) => /npm run (?!-s )[^|>]*[^-|>]\s*(>(?!=)|\|)/.test(line));
    expect(commands.filter((line) => line.includes('npm run')).length).toBeGreaterThan(50);
    expect(taken).toEqual([]);
  });

  it('work in every POSIX shell', () => {
    const bashOnly = /\$\{[@*\w]+:\d|\$\{\w+\/\/|\[\[ |<\(|<<<|\bfunction \w+ *\(/;
    expect(commands.filter((line) => bashOnly.test(line))).toEqual([]);
  });
});
