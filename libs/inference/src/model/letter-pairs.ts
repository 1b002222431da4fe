/** Two letters of a word, of which `^` stands for any capital. */
export interface LetterPair {
  /** Of the first of the two in its word, from 1; 3 for all further ones. */
  readonly place: number;
  /** Whether a vowel stands before them. */
  readonly isAfterVowel: boolean;
  readonly letters: string;
}

const LETTERS = 'abcdefghijklmnopqrstuvwxyz^';

/**
 * What a letter costs behind another, in base 36: a row for the first, a column for the second. The first table is for
 * the first letter of a word, the next two for the second (behind other letters, and behind a vowel), the last two for
 * further ones.
 *
 * A search fitted the numbers: over the words of docs, code and JSON their sum is low, and no word was found that costs
 * less than 0.6 of its tokens in the dearer of two vocabularies, among all words up to three letters, all small ones of
 * four, and millions of longer ones. `text-floor.spec.ts` goes on searching.
 */
const PAIRS: readonly (readonly string[])[] = [
  [
    'is11803jd280c1g4p501dm3jqbj',
    'fij0cdltdtdcniciji1ledgfdfj',
    'fej0j8liggpcqj0k9k1fmdeijlj',
    'fci09hmraicnjhfs9l1leegdjln',
    'grng548ndb82b1hz2607tn60lrz',
    'fdj0lzlqalfcidhk9e1mcemajpk',
    'jfj6ggmxdlqcidckki0kgdmcjgs',
    'gfj4eastdleyiggmlm4lgehf7yj',
    'zvt0e0ckh76b60vieh00vzdzrzm',
    'lej7jlqykhqyjqfm8o0lmnrnmyl',
    'jnkaczlrjkmllcglknbmedmojjk',
    'ejj4ialqahezidcskq3lzehcxpm',
    'aej0cglqdgdmzhas8o1khdmfdjj',
    'eeztizzrglnqidchjmyzedmdjhk',
    'gbad90yjdq1srfk4p525ik8hrjm',
    'bdj1c9lmdhkikdao8b9fddghjns',
    'sfhjsjrzmyqqvsls9q1linmnovp',
    'ecj0977sgygpifhh8vazddhajgk',
    'ji059blkeh3eidf90m91b3bcgfu',
    'fdj2dbsgdlcmkecsjm0lqz8c2hs',
    'murrzcmnzm6zd0wenc0drrizqjj',
    'lfj6dglqgydmidckkq7midebjjj',
    'efi6j8nkgylmiegkkm1kvnefjjl',
    'sgh2n7rzryqmidhsjq1sjkqdgym',
    'hykj2jdzdxlyqiayml7cvzmzqwt',
    'ydj4ojmpnudwjehrky6qmpffmfm',
    'jjjknkswjyqwqjjjlrkrjnnjmrj',
  ],
  [
    'kbh8ghogkjf5d4pik003gcemdhk',
    'dmlakecrikdndduntnclkmhkcfk',
    'jmujzol4mvpjjjuutsuumnpjkmm',
    'rytmqumqzvvssnvytwotzwsuorm',
    'abecaalaglm4b7jkf630hsa7azl',
    'lrnjjjnrzwgulhtrntikolmmiml',
    'l6lglnipxphmmiprqwztsmngigg',
    '09c30854bi3z734fb9hbb897268',
    'jdl6cdjghnfhb4zllh94frdmgfm',
    'abc498hblha9c5dkff89hhhhhhh',
    'mkhggkhkosgkggjsnpjjqkmgclg',
    '7bdfdc9bfkcncdbjhi9iahfbzcc',
    'ahh59f7cgf9jb6jgij7aggcfagg',
    'gojbcebikkfkdcjltrcmnlfh9em',
    'jjn9jjjjoxrab8mfs6bcbtbljjk',
    'hkla9fcbkmbcbbkllnfhzsga7fl',
    'lpmrnwmorwlojkpwzsknqnqjmmk',
    'bcf82iafgvcr885nilacmlfg8dj',
    'uxtlzqmszwsqqmvyzyqswqzjorj',
    'coo9unnozucn6zkyuddlzmqi8nz',
    'hgee9cjggnkaf6nkqc77lpdzehj',
    'jkhgol8kzsilgclrqplmkmmghii',
    'fjgjfeekjneiheeqpmcijkiidih',
    'hplgghmmowjlhckltnfhnpmjffm',
    'miohnjokmrrsivkcshholohhrmj',
    'ehi8dcjhgoaieajlmmcffjfeafj',
    'lmqlpommwwlzmjtztzkonsqknkj',
  ],
  [
    '69d78ahbeiatid9fib5c9k7g8a5',
    'bbg85ba9e4ag88npd808bdeaaa8',
    'zokiynk9zvgpkltzwsj9tnoiili',
    'uurjwvmqzvkrkkzztwbmymsiknz',
    'klrknmxqmrxzmhjuzhhjqzjklrj',
    'ruupncllrxmuonuvtzlmtspolmj',
    'gjlgzmcqzsgpggkxqvljykyhhjg',
    '76a0c5298f2851bf9h59a5e1333',
    'hei99djgbmdzcliikfadcoajdef',
    'oksmmnklztkpkkszpzooulohhkh',
    'kooinnkmrwkpjoozptmmmmoijli',
    'nmrhzljlrvhlbjnytygevzpkmmj',
    'd7odzj9egzdomdg8kqdgehkddhd',
    'ynl4lwdkqvnqmcmzsvbcmlpjjmj',
    'dhgcggffclfgfzehiijgbrihjib',
    'klpmjkiontfrfjlfpsf8xtligjf',
    'jnlhrqllquklhmlurumoklrhjjl',
    'hcgdir4jzqzn7ipsoipzhzolehf',
    'pmmjspmwzwmojkzxtznzznzojmk',
    'zzznonmjzvlykjzztviuzrxqjok',
    'adc798q7fgjlbzbjl1o0boa4dg9',
    '55a14c33zd3661cebx487764274',
    'gnkojtiqosjnkgpxqtjkosqlgjh',
    'nmpjgrljrvjqjkmetzjcnnpjljj',
    '4057028149c9cc0gd8580b00356',
    'ncf8cdbcgkdf98cpimb8blf8ci8',
    'mqojpxmmswlzzjkxtqlqosqjnkm',
  ],
  [
    'k6c7hj7ehna3b3lfu763dfdj6dm',
    'ggieafgjmhfieelpqpcghmigcek',
    'gjkc8mc3jl9hdfdmoidbishgagm',
    'knrkhmlmrumkkjqusxjnovonjok',
    'fme3ilrnmqong7nor33ckpgeikj',
    'hhicmgggfvhkighrnrmhkpkggjl',
    'nnrifskkrvsrkklyytmooopjllm',
    'jmpj7okpjwjljjktqngnjommjmj',
    'cd3646efpjeb933bof74lmggj6n',
    'bdl74eebglag89fikj8bcqkfgle',
    'konjknjmnpmojikttsciqqmmnun',
    'gghg3hghdojiggerpofhlkki3gk',
    'jomjjkjjjxjjjhjunxjomnnmjnl',
    'hllbgnjnwrhrkkjqyrjhmpokjko',
    'j9f6jgdhhjjc73j9s33c693dhij',
    '9ed59c79bk8c8a5jfh5ccged68b',
    'hae8fkieiqhh89kghjb9dkfblke',
    '5did3bdbcqdida3lhk8dnjdfcah',
    'jpnjdjkkhrjqjjktorkenoljjjj',
    'lrrkcnsmdwmpjmqvxnnlmuvmhkj',
    'f78539ee8oj5aamgr33alnebggq',
    'lile3hakfrfjfdiouuggojkfhpm',
    'eejcaecdjmekcchrpjdghpiedkk',
    'njkdhgtmvynndfmltoniqoubdfr',
    'jktjjkpoowmttpkjvjjknxjkmjj',
    'kjkc9gmnjwgphdlnrxggkpikcep',
    'kpronxortwppxknztzvpnqqknnk',
  ],
  [
    'f9c3ikcfgnc9c5neu39biebjdak',
    'hgmhdplhpwlgjjosqpfnnpmkgkk',
    'hllidik6st3kiliwqoj3hlmilbn',
    'hpte8okrmwotjmnytylpsqtoiqj',
    'mml9mlnnmundeftns33ijonllln',
    'hpmjg9jmlvjnkkkwonk7jnmkimk',
    'hkjj3k8dfvjjj6frqgefikmjcjj',
    'hhhedgfgosemfdhpqpgejnggfgj',
    'j9e3gkkjkmg3k3lgr344khhkhel',
    'egd96bkagidi99dlgn3ddljhhfi',
    'ljik3llihqfmkkjqmo8jikpkekj',
    'iln84fjoiwh6jkhtpqccgmum9kk',
    'h9oi3nmkmpkm3jieorakllljill',
    'lnd5cm5kksdpkglzpv55qkskkkj',
    'kkn8kkmnpulhj3klwcjffilglok',
    'cjhh3oibmpmdmhdjri9bjrph5hk',
    'gae7cgedjrhh77iidh7abf9afje',
    'ljkdalfkjwknfblsrp9amqrkfkk',
    'rplleqohkzjpnnnltse7ppwlnkk',
    'cjjkaqmagvknlkgupoicdrpndek',
    'odnajoiljpodo6mjr585miodlok',
    'bmjg3mghbohtgiiprljmkmlgaif',
    'mlmjfslqqtqmj8ktrwemtvokjoj',
    'knjjisoklvonsmnntzuasxtkjlk',
    'hkqkfmpjpswqlmlpsmilnuikomj',
    'fnjk9mjkltknkiitvqkkkonikck',
    'krnknypnpwkrqknwrrnslqrrnmk',
  ],
];

/** Returns the units of the second letter. */
export function pairUnits({ place, isAfterVowel, letters: [first, second] }: LetterPair): number {
  const table = place === 1 ? 0 : 2 * place - 3 + (isAfterVowel ? 1 : 0);
  const row = PAIRS[table]![LETTERS.indexOf(first!)]!;
  return Number.parseInt(row[LETTERS.indexOf(second!)]!, 36);
}
