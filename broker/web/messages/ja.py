"""The texts of the pages in Japanese. They may hold HTML; what fills their placeholders is escaped."""

from collections.abc import Mapping

MESSAGES: Mapping[str, str] = {
    "product": "MCPist",
    "skip": "本文へ移動",
    "footer": "MCPist は認証情報と権限をサーバー側で管理します。",
    # sign in
    "sign_in.title": "サインイン",
    "sign_in.lead": "職場でお使いのアカウントを選択してください。",
    "sign_in.with": "{provider} で続ける",
    "sign_in.none": "この MCPist には ID プロバイダーが設定されていません。ワンタイムリンクでサインインします。",
    "sign_in.none.do": "管理者にリンクの発行を依頼してください。リンクは 15 分間、1 回だけ使えます。"
    "この MCPist を運用している方は <code>mcpist user link</code> で発行できます。",
    "sign_in.after": "サインインすると、元の画面に戻ります。",
    "sign_in.notice.session_ended": "セッションが終了しました。続けるには、もう一度サインインしてください。",
    "sign_in.notice.recent": "この操作には、もう一度サインインが必要です。",
    "sign_in.notice.link_needed": "ワンタイムリンクを使うにはサインインしてください。",
    # one-time link
    "link.title": "ワンタイムリンクでサインイン",
    "link.lead": "このリンクで、この端末に 1 回だけサインインできます。",
    "link.as": "{email} としてサインインします。",
    "link.as_in": "{tenant} に {email} としてサインインします。",
    "link.caution": "ご自身で依頼したリンクか、管理者から事前に知らされたリンクの場合だけ続けてください。",
    "link.go": "サインイン",
    # choose tenant
    "tenant.title": "サインイン先の選択",
    "tenant.lead": "{email} は複数の組織を利用できます。",
    "tenant.go": "{tenant} に進む",
    # consent
    "consent.title": "{client} に利用を許可しますか？",
    "consent.lead": "{client} が、あなたに代わって MCPist を使うことを求めています。",
    "consent.facts": "要求の内容",
    "consent.client": "アプリケーション",
    "consent.host": "公開元",
    "consent.destination": "応答の送り先",
    "consent.destination.loopback": "{destination} <small>このコンピューター上のプログラム</small>",
    "consent.destination.app": "{destination} <small>この端末上のアプリ</small>",
    "consent.user": "あなたのアカウント",
    "consent.tenant": "組織",
    "consent.may": "許可すると、次のことができるようになります",
    "consent.scope.mcp:read": "あなたが使えるすべてのサービスで、読み取り専用のツールを使う",
    "consent.scope.mcp:write": "変更・送信・削除を行うものも含めて、あなたのすべてのツールを使う",
    "consent.scope.admin:read": "{tenant} の管理情報（ユーザー、ロール、監査ログ）を読む",
    "consent.scope.admin:write": "{tenant} の管理情報（ユーザー、ロール、サービス）を変更する",
    "consent.never": "パスワードや、接続済みアカウントのトークンが渡されることはありません。",
    "consent.unknown.title": "このアプリケーションは確認されていません",
    "consent.unknown": "名前はアプリケーションが自分で名乗ったもので、誰でもどんな名前でも名乗れます。"
    "たった今ご自身で始めた操作の場合だけ許可してください。",
    "consent.first.title": "ここで初めて使われるアプリケーションです",
    "consent.first": "{host} が公開しているものですが、MCPist はその身元を確認していません。"
    "そのサイトをご存じで、たった今ご自身で始めた操作の場合だけ許可してください。",
    "consent.loopback.title": "応答はこのコンピューターに送られます",
    "consent.loopback": "このコンピューター上のどのプログラムでも受け取れる可能性があります。"
    "ご自身がここで {client} を起動した場合だけ許可してください。",
    "consent.allow": "許可する",
    "consent.deny": "拒否する",
    "consent.later": '許可は<a href="/account">アカウント</a>画面でいつでも取り消せます。',
    # going on
    "go_on.title": "お待ちください",
    "go_on.text": "{destination} に移動します。",
    "go_on.to_app": "応答をアプリに渡します。",
    "go_on.app": "アプリを開くかどうかをブラウザーが確認することがあります。その後、このページは閉じてかまいません。",
    "go_on.link": "続ける",
    # refused
    "refused.title": "まだ利用が許可されていません",
    "refused.text": "{provider} に {email} としてサインインしましたが、"
    "この MCPist でこのアドレスを許可している組織はありません。",
    "refused.do": "あなたの組織の MCPist 管理者に、このアドレスを許可リストに加えるよう依頼するか、"
    "別のアカウントを使ってください。",
    "refused.contact": "連絡先: {contact}",
    "refused.again": "別のアカウントを使う",
    # signed out
    "signed_out.title": "サインアウトしました",
    "signed_out.text": "許可済みのアプリケーションは引き続き動作します。"
    "それらも停止するには、サインインしてアカウント画面で削除してください。",
    "signed_out.again": "もう一度サインインする",
    # account
    "account.title": "アカウント",
    "account.lead": "{tenant} の {email}",
    "account.sign_out": "サインアウト",
    "account.sessions": "サインイン中のブラウザー",
    "account.sessions.current": "このブラウザー",
    "account.sessions.seen": "最終利用 {moment}",
    "account.sessions.since": "サインイン {moment}（{method}）",
    "account.method.link": "ワンタイムリンク",
    "account.sessions.address": "接続元 {address}",
    "account.sessions.unknown": "不明なブラウザー",
    "account.sessions.end": "サインアウトさせる",
    "account.sessions.end.label": "サインアウトさせる: {session}",
    "account.sessions.end_all": "すべてのブラウザーからサインアウトする",
    "account.grants": "あなたに代わって動作できるアプリケーション",
    "account.grants.none": "許可したアプリケーションはまだありません。",
    "account.grants.since": "許可 {moment}",
    "account.grants.seen": "最終利用 {moment}",
    "account.scope.mcp:read": "読み取り",
    "account.scope.mcp:write": "読み取りと変更",
    "account.scope.admin:read": "管理情報の読み取り",
    "account.scope.admin:write": "管理情報の変更",
    "account.grants.revoke": "削除する",
    "account.grants.revoke.label": "{client} を削除する",
    "account.identities": "サインインの方法",
    "account.identities.none": "ワンタイムリンクのみ",
    "account.identities.tie": "{provider}でもサインインする",
    "account.identities.since": "最終利用 {moment}",
    "account.identities.untie": "削除する",
    "account.identities.untie.label": "{account} を削除する",
    "account.identities.last": "サインインに使えるアカウントはこれだけです。"
    "削除するには、先に別のアカウントを追加してください。",
    "account.done.session_ended": "そのセッションを終了しました。",
    "account.done.account_tied": "今後はそのアカウントでもサインインできます。",
    "account.done.account_untied": "今後、そのアカウントではサインインできません。",
    "account.done.grant_revoked": "そのアプリケーションは、あなたに代わって動作できなくなりました。",
    # problems
    "problem.summary": "問題があります",
    "problem.home./sign-in": "サインイン画面へ",
    "problem.home./account": "アカウント画面へ",
    "problem.home./connect": "サービスの一覧へ",
    "problem.invalid.title": "要求を理解できませんでした",
    "problem.invalid.text": "必要なものが欠けているか、誤りがあります。",
    "problem.invalid.do": "元のアプリケーションに戻り、最初からやり直してください。",
    "problem.client_request.title": "アプリケーションの要求に誤りがあります",
    "problem.client_request.text": "続行できず、アプリケーションに知らせることもできません: {detail}",
    "problem.client_request.do": "アプリケーションで最初からやり直してください。"
    "解決しない場合は、アプリケーションの担当者にこの画面を見せてください。",
    "problem.unknown_client.title": "登録されていないアプリケーションです",
    "problem.unknown_client.text": "この ID のアプリケーションは登録されていないか、登録の期限が切れています。",
    "problem.unknown_client.do": "アプリケーションから MCPist をいったん削除し、もう一度追加してください。"
    "それでも解決しない場合は、管理者にアプリケーションの登録を依頼してください（<code>mcpist client add</code>）。",
    "problem.client_document_off.title": "このアプリケーションは登録が必要です",
    "problem.client_document_off.text": "このアプリケーションは <code>{host}</code> "
    "にあるドキュメントで自身を示していますが、"
    "この MCPist はそこのドキュメントを受け付けていません。",
    "problem.client_document_off.do": "管理者にアプリケーションの登録を依頼し（<code>mcpist client add</code>）、"
    "受け取ったクライアント ID をアプリケーションの設定に入力してください。",
    "problem.client_document_away.title": "アプリケーションのドキュメントを読み込めません",
    "problem.client_document_away.text": "このアプリケーションは <code>{host}</code> "
    "にあるドキュメントで自身を示していますが、"
    "MCPist はそれを取得できませんでした。サイトが停止しているか、この MCPist から接続できません。",
    "problem.client_document_away.do": "1 分ほど待ってからもう一度お試しください。それでも失敗する場合は、"
    "管理者にアプリケーションの登録を依頼し（<code>mcpist client add</code>）、"
    "受け取ったクライアント ID をアプリケーションの設定に入力してください。",
    "problem.client_document_wrong.title": "アプリケーションのドキュメントが正しくありません",
    "problem.client_document_wrong.text": "このアプリケーションは <code>{host}</code> "
    "にあるドキュメントで自身を示していますが、"
    "その内容が正しくありません。",
    "problem.client_document_wrong.do": "アプリケーションの提供元に連絡してください。修正されるまでは、"
    "管理者がアプリケーションを登録できます（<code>mcpist client add</code>）。",
    "problem.redirect_uri.title": "リダイレクト URI が登録されていません",
    "problem.redirect_uri.text": "応答の送り先として <code>{uri}</code> が指定されましたが、"
    "このアプリケーションには登録されていません。アクセス権を盗む試みの可能性があるため、何も送信していません。",
    "problem.redirect_uri.do": "誰かから送られたリンクではなく、必ずアプリケーション自体から操作してください。"
    "アプリケーションの公式な説明にこのリダイレクト URI が記載されている場合は、管理者に登録を依頼してください: "
    "<code>mcpist client add NAME --redirect-uri URI</code>",
    "problem.no_redirect_uri.title": "リダイレクト URI が指定されていません",
    "problem.no_redirect_uri.text": "指定がないため、MCPist は応答をどこへ送ればよいか判断できません。",
    "problem.no_redirect_uri.do": "アプリケーションからやり直してください。それでも解決しない場合は、"
    "アプリケーションの担当者にこの画面を見せてください。",
    "problem.foreign_site.title": "別のサイトからの要求です",
    "problem.foreign_site.text": "安全のため、この種の要求は MCPist 自身のページからだけ受け付けます。",
    "problem.foreign_site.do": "ページを開き直して、もう一度操作してください。",
    "problem.other_browser.title": "別のブラウザーで始められた操作です",
    "problem.other_browser.text": "サインインは、始めたときと同じブラウザーの同じウィンドウで終える必要があります。",
    "problem.other_browser.do": "このブラウザーで最初からやり直してください。"
    "ご自身が始めた操作の場合だけ続けてください。",
    "problem.expired.title": "時間が経ちすぎました",
    "problem.expired.text": "この手順は期限が切れたか、すでに完了しています。",
    "problem.expired.do": "最初からやり直してください。",
    "problem.link_used.title": "このリンクはもう使えません",
    "problem.link_used.text": "ワンタイムリンクは 15 分間、1 回だけ使えます。",
    "problem.link_used.do": "リンクの発行元に、新しいリンクを依頼してください。",
    "problem.cancelled.title": "サインインしませんでした",
    "problem.cancelled.text": "{provider} から、サインインが取り消されたと通知がありました。",
    "problem.cancelled.do": "もう一度試すか、別のアカウントを選択してください。",
    "problem.provider.title": "{provider} で本人確認ができませんでした",
    "problem.provider.text": "応答が不完全か、信頼できないものだったため、サインインしていません。",
    "problem.provider.do": "もう一度試してください。繰り返し起こる場合は、試した時刻を管理者に伝えてください。",
    "problem.provider_away.title": "{provider} に接続できません",
    "problem.provider_away.text": "応答がありませんでした。",
    "problem.provider_away.do": "しばらくしてから、もう一度試してください。",
    "problem.unverified_email.title": "メールアドレスが確認されていません",
    "problem.unverified_email.text": "{provider} から、確認済みのメールアドレスが得られませんでした。"
    "MCPist は確認済みのアドレスで利用の可否を判断します。",
    "problem.unverified_email.do": "そちらでアドレスを確認してから、もう一度サインインしてください。",
    "problem.suspended.title": "利用が停止されています",
    "problem.suspended.text": "この MCPist で、あなたのアカウントまたは組織の利用が停止されています。",
    "problem.suspended.do": "あなたの組織の MCPist 管理者に問い合わせてください。",
    "problem.other_account.title": "別のアカウントで登録されています",
    "problem.other_account.text": "{email} は、以前に別のアカウントでサインインした方のものです。"
    "メールアドレスは別の人に引き継がれることがあります。",
    "problem.other_account.do": "ご本人の場合は、以前の方法、または管理者が発行するワンタイムリンクでサインインし、"
    "「アカウント」でこのアカウントを追加してください。",
    "problem.already_tied.title": "そのアカウントは使われています",
    "problem.already_tied.text": "{provider}のそのアカウントは、組織内の別の人がサインインに使っています。",
    "problem.already_tied.do": "別のアカウントを選んでください。ご自身のものである場合は、管理者に連絡してください。",
    "problem.not_found.title": "ページが見つかりません",
    "problem.not_found.text": "アドレスが間違っているか、古くなっている可能性があります。",
    "problem.not_found.do": "アドレスを確認するか、アカウント画面からやり直してください。",
    "problem.forbidden.title": "この操作は許可されていません",
    "problem.forbidden.text": "あなたのアカウントには、必要な権限がありません。",
    "problem.forbidden.do": "あなたの組織の MCPist 管理者に問い合わせてください。",
    "problem.conflict.title": "内容が変わっています",
    "problem.conflict.text": "ほかの人、またはご自身の別のウィンドウで先に変更されました。",
    "problem.conflict.do": "ページを開き直して、現在の内容を確認してください。",
    "problem.wrong_method.title": "このページは直接開けません",
    "problem.wrong_method.text": "別の画面から始まる操作の途中のページです。",
    "problem.wrong_method.do": "最初からやり直してください。",
    "problem.too_many.title": "試行回数が多すぎます",
    "problem.too_many.text": "短い時間に、あなたのアドレスから多くの要求がありました。",
    "problem.too_many.do": "1 分ほど待ってから、もう一度試してください。",
    "problem.unavailable.title": "MCPist の準備ができていません",
    "problem.unavailable.text": "必要な機能の一部が一時的に利用できません。",
    "problem.unavailable.do": "しばらくしてから、もう一度試してください。",
    "problem.disk_full.title": "MCPist は何も保存できません",
    "problem.disk_full.text": "データベースのディスクがいっぱいです。",
    "problem.disk_full.do": "この MCPist の運用担当者に連絡してください。"
    "空き容量ができれば、再び利用できるようになります。",
    "problem.internal.title": "サーバーで問題が発生しました",
    "problem.internal.text": "原因はこちら側にあり、ログに記録しました。",
    "problem.internal.do": "もう一度試してください。繰り返し起こる場合は、試した時刻を管理者に伝えてください。",
    "problem.other_host.title": "この MCPist のアドレスは別にあります",
    "problem.other_host.text": "<code>{url}</code> でだけ応答します。",
    "problem.other_host.do": "そのアドレスで開いてください。",
    "problem.plain_http.title": "サインインには https が必要です",
    "problem.plain_http.text": "この MCPist は暗号化なしの <code>{url}</code> で公開されています。"
    "通信の途中で、誰かにセッションを盗まれるおそれがあります。",
    "problem.plain_http.do": "運用者に、https で公開して "
    "<code>MCPIST_PUBLIC_URL</code> を設定するよう依頼してください。",
}
