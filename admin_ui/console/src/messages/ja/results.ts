import type { Messages } from '../index.tsx'

export const results: Messages['results'] = {
  tokens: '結果の上限（トークン）',
  tokensHelp: (least, most, usual) =>
    `${least}～${most}。超えた分は保存され、モデルが分けて読みます。空欄の場合は、クライアントについて分かっている値、なければ ${usual} です。`,
  tokensWrong: (least, most) => `${least}～${most} を入力するか、空欄にしてください。`,
  upTo: (tokens) => `結果の上限 ${tokens} トークン`,
  decided: 'クライアントに応じて決定',
}
