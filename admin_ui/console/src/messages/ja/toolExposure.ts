import type { Messages } from '../index.tsx'

export const toolExposure: Messages['toolExposure'] = {
  label: 'ツールの見せ方',
  form: '「meta」はすべてのツールに通じる 3 つのツール、「plain」はツールそのもの、「both」はその両方です。コロンの後に名前を書くと、そのサービスやツールに限ります（例: plain:github,notion）。',
  ofCredential: '空欄の場合はロールで決まります。クライアントの URL の指定が優先されます。',
  ofRole: '空欄の場合は meta です。複数のロールの指定は合わせて適用されます。クライアントの設定とその URL の指定が優先されます。',
  wrong: 'meta、plain、both のいずれか、またはコロンの後に名前を入力してください（例: plain:github,notion）',
  shows: (exposure) => `ツールの見せ方 ${exposure}`,
  byRole: 'ロールに応じて決定',
}
