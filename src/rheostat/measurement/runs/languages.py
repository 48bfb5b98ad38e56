"""What sites write that do not write English: how a run ended, and names of columns."""

# ruff: noqa: RUF001 - letters of other alphabets look like Latin ones

from __future__ import annotations

FINISHED = (
    "COMPLETED", "COMPLETE", "CD", "OK", "PASS", "PASSED", "DONE", "SUCCESS", "SUCCESSFUL",
    "SUCCEEDED", "FINISHED", "ENDED", "CACHED", "COMPLETED_SUCCESSFULLY", "VERIFIED", "VALID",
    "CORRECT", "CONVERGED",
    "FERTIG", "BEENDET", "ABGESCHLOSSEN", "ERFOLGREICH", "ERFOLG", "VOLLSTANDIG",
    "TERMINE", "TERMINEE", "FINI", "FINIE", "REUSSI", "REUSSIE", "SUCCES", "ACHEVE", "ACHEVEE",
    "TERMINADO", "TERMINADA", "COMPLETADO", "COMPLETADA", "FINALIZADO", "FINALIZADA", "EXITO",
    "EXITOSO", "EXITOSA", "CORRECTO",
    "CONCLUIDO", "CONCLUIDA", "COMPLETO", "COMPLETA", "SUCESSO",
    "COMPLETATO", "COMPLETATA", "TERMINATO", "TERMINATA", "FINITO", "FINITA", "RIUSCITO",
    "RIUSCITA", "SUCCESSO",
    "VOLTOOID", "KLAAR", "GEREED", "GESLAAGD", "AFGEROND",
    "SLUTFORD", "AVSLUTAD", "KLAR", "FULLFØRT", "FERDIG", "FÆRDIG", "VALMIS",
    "ZAKONCZONE", "ZAKONCZONY", "UKONCZONE", "UKONCZONY", "DOKONCENO", "HOTOVO",
    "ЗАВЕРШЕНО", "ЗАВЕРШЕНА", "УСПЕШНО", "ГОТОВО",
    "正常終了", "終了", "完了", "成功", "完成", "正常结束", "已完成",
)  # fmt: skip
"""Words for a good end, in capitals without accents."""
UNFINISHED = (
    "FAILED", "FAIL", "ERROR", "CANCELLED", "CANCELED", "KILLED", "ABORTED", "TIMEOUT",
    "NODE_FAIL", "OUT_OF_MEMORY", "OOM", "PREEMPTED", "BOOT_FAIL", "DEADLINE", "CRASHED", "CRASH",
    "COMPLETED_FAILED", "COMPLETED_WALLTIME_REACHED", "COMPLETED_KILLED", "REMOVED", "REJECTED",
    "UNSUCCESSFUL", "UNVERIFIED", "NOT VERIFIED", "INVALID", "NOT VALID", "INCORRECT", "WRONG",
    "NOT CONVERGED", "UNCONVERGED", "DIVERGED", "NOT PASSED", "NOT OK", "MISMATCH",
    "F", "CA", "TO", "NF", "RUNNING", "PENDING", "FALSE", "0", "1", "EXIT",
    "ABGEBROCHEN", "ABBRUCH", "FEHLER", "FEHLGESCHLAGEN", "FEHLERHAFT", "GESCHEITERT",
    "ZEITUBERSCHREITUNG", "UNVOLLSTANDIG",
    "ECHEC", "ECHOUE", "ECHOUEE", "ERREUR", "ANNULE", "ANNULEE", "INTERROMPU", "INTERROMPUE",
    "ABANDONNE", "ARRETE", "INCOMPLET",
    "FALLIDO", "FALLIDA", "FALLO", "CANCELADO", "CANCELADA", "INTERRUMPIDO", "INTERRUMPIDA",
    "ABORTADO", "INCOMPLETO",
    "FALHOU", "FALHA", "ERRO", "INTERROMPIDO", "INTERROMPIDA", "ABORTADA", "EXPIRADO",
    "FALLITO", "FALLITA", "ERRORE", "ANNULLATO", "ANNULLATA", "INTERROTTO", "INTERROTTA",
    "MISLUKT", "FOUT", "GEANNULEERD", "AFGEBROKEN", "ONDERBROKEN",
    "MISSLYCKADES", "MISSLYCKAD", "AVBRUTEN", "AVBRUTT", "AFBRUDT", "FEIL", "FEJL", "VIRHE",
    "BŁAD", "NIEUDANE", "ANULOWANE", "ANULOWANY", "PRZERWANE", "PRZERWANY", "CHYBA", "ZRUSENO",
    "ОШИБКА", "ОТМЕНЕНО", "ОТМЕНЕНА", "ПРЕРВАНО", "СБОИ",
    "異常終了", "失敗", "中止", "中断", "強制終了", "取消", "失败", "错误", "超时", "已取消",
)  # fmt: skip
"""Words for another end, in capitals without accents."""

SUMMARY = (
    "total", "totals", "grand total", "sum", "overall", "mean", "average", "avg", "median",
    "summe", "gesamt", "gesamtsumme", "insgesamt", "mittelwert", "mittel", "durchschnitt",
    "somme", "moyenne", "total général", "suma", "promedio", "media", "total general",
    "soma", "média", "totale", "somma", "totaal", "gemiddelde", "totalt", "razem", "celkem",
    "итого", "всего", "среднее", "合計", "平均", "合计", "总计", "平均值",
)  # fmt: skip
"""What a row of sums or means is called, in small letters."""

_COUNT = (r"((nb|nbre|nombre|anzahl|n[or°º]?|n[uú]m(ero)?|quantidade|aantal|antal|liczba|po[cč]et"
          r"|число)_(d[aeiou]?s?_|der_)?)?")  # fmt: skip
"""The number of something."""
_MEAN = (r"mittel|mittlere[rs]?|durchschnitt(lich(er?|es?)?)?|schnitt|moyenn?e?|m[eé]di[ao]"
         r"|promedio|gemiddelde?|medel|gjennomsnittlig|genomsnittlig|srednia|[sś]rednia|pr[uů]m[eě]rn[yý]"
         r"|средняя|平均")  # fmt: skip
"""The mean of something."""
NAMES: tuple[tuple[str, str], ...] = (
    ("runtime_s", rf"(({_MEAN})_)?"
                  r"(tempo_(de_)?execu[cç][aã]o|tiempo_(de_)?ejecuci[oó]n|tempo_di_esecuzione"
                  r"|temps_(d_)?ex[eé]cution|dur[eé]e|duraci[oó]n|dura[cç][aã]o|durata|laufzeit"
                  r"|czas_(wykonania|trwania)|looptijd|(uitvoerings|reken)tijd|k[oøö]r(e)?tid"
                  r"|suoritusaika|doba_b[eě]hu|время_(выполнения|работы)"
                  rf"|実行時間|経過時間|运行时间)(_({_MEAN}))?"),
    ("power_w", rf"(({_MEAN})_)?(leistung(saufnahme)?|puissance|potencia|pot[eê]ncia|potenza|moc"
                rf"|vermogen|effekt|teho|v[yý]kon|мощность|電力|消費電力|功率)(_({_MEAN}))?"),
    ("energy_j", rf"(({_MEAN})_)?(energie(verbrauch)?|[eé]nergie|energ[ií]a|energi"
                 rf"((f[oö]r|for)bruk(ning)?)?|энергия|消費電力量|能耗)(_({_MEAN}))?"),
    ("nodes", rf"{_COUNT}(knoten(zahl)?|n(oe|œ)uds?|nodos|n[oó]s|nodi|w[eę]z[lł](y|[oó]w)"
              r"|knooppunten|noder|solmut|uzl(y|[uů])|узл(ы|ов))|ノード数|节点数"),
    ("gpus", rf"{_COUNT}gpus?"),
    ("cores", rf"{_COUNT}(kerne[nr]?|c(oe|œ)urs|n[uú]cleos|core|rdzeni(e)?|k[aä]rnor|kjerner|ytimet"
              r"|j[aá]d(ra|er)|яд(ра|ер))|コア数"),
    ("app", r"anwendung|programm[ae]?|aplica(tivo|[cç][aã]o|ci[oó]n)|applicazione|aplikacja"
            r"|toepassing|till[aä]mpning|приложение|应用|アプリケーション"),
    ("user", r"benutzer|utilisateur|usu[aá]rio|utente|u[zż]ytkownik|gebruiker|anv[aä]ndare"
             r"|bru[kg]er|u[zž]ivatel|пользователь|ユーザ(ー)?|用户"),
    ("partition", r"warteschlange|file_d_attente|fila|cola|coda|kolejka|wachtrij|fronta|очередь"
                  r"|キュー|队列"),
    ("job_id", r"(id|n[or]?|num[eé]ro|n[uú]mero)_(d[eo]_)?(tarefa|trabajo|travail|t[aâ]che|lavoro)"
               r"|identifiant|identificador|identificativo|auftrag(snummer)?|(taak|opdracht)(nummer|nr)|jobb?nummer|ジョブ(番号|id)"),
    ("account", r"projekti?|projet|proyecto|projeto|progetto|prosjekt|проект|課題"),
    ("submit_s", r"((data|hora)_(de_)?)?submiss[aã]o|((fecha|hora)_(de_)?)?env[ií]o"
                 r"|((date|heure)_(de_)?)?soumission|soumis(_le)?|((data|ora)_(di_)?)?sottomissione"
                 r"|einreichung|eingereicht(_am)?|abgabe(zeit(punkt)?)?|abgeschickt(_am)?|ingediend|inskickad|innsendt|data_zg[lł]oszenia"
                 r"|投入時刻|提交时间"),
    ("start_s", r"((data|hora)_(de_)?)?in[ií]cio|((fecha|hora)_(de_)?)?inicio"
                r"|((date|heure)_)?(de_)?d[eé]but|beginn|startzeit|((data|ora)_)?inizio"
                r"|gestart(et)?(_am)?|starttijd|starttid|startad|startet|(commenc[eé]|d[eé]marr[eé])(_le)?|(iniciad|comenzad|avviat|iniziat)[oa]"
                r"|data_rozpocz[eę]cia|開始時刻|开始时间"),
    ("end_s", r"((data|hora)_(de_)?)?(fim|t[eé]rmino)|((fecha|hora|date|heure)_(de_)?)?fin"
              r"|ende|endzeit|beendet(_am)?|(data|ora)_fine|(be|ge)[eë]indigd|eindtijd|avslutad"
              r"|avsluttet|sluttid|termin[eé](_le)?|(terminad|finalizad|terminat|conclu[ií]d)[oa]"
              r"|data_zako[nń]czenia|終了時刻|结束时间"),
    ("state", r"situa[cç][aã]o|終了状態|状態|状态"),
)  # fmt: skip
"""As `guess.NAMES`, in the languages of sites."""
UNITS_S = {
    "sekunden": 1.0, "sek": 1.0, "secondes": 1.0, "segundos": 1.0, "secondi": 1.0, "seconden": 1.0,
    "sekunder": 1.0, "sekundy": 1.0, "minuten": 60.0, "minutos": 60.0, "minuti": 60.0,
    "minuter": 60.0, "minuty": 60.0, "stunden": 3600.0, "std": 3600.0, "heures": 3600.0,
    "horas": 3600.0, "ore": 3600.0, "uur": 3600.0, "uren": 3600.0, "timmar": 3600.0,
    "timer": 3600.0, "godz": 3600.0, "godziny": 3600.0, "秒": 1.0, "分": 60.0, "時間": 3600.0,
    "小时": 3600.0,
}  # fmt: skip
"""Units of time in brackets, in seconds."""
